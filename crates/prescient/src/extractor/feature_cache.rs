//! Features that were computed once stay at hand: for another order of classes, another table of attributes, another run.
//!
//! ```text
//!  CACHE/features/SHELF/PART.features      SHELF: a digest of weights and view; PART: a digest of what is in it
//! ```
//!
//! A feature is found by the content of its image. A part is written once and never changed, under a name that its content
//! gives it: two runs may write at the same time, and a part that was tampered with is told. Parts can be deleted at any
//! time; what is lost is the time to compute them again. Above a limit the parts that were not used for longest go first.

use crate::error::RunError;
use crate::extractor::feature_file::{self, Row, checked_counts, verified};
use mapped::Mapped;
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// All parts together, in bytes, unless [`LIMIT`] says otherwise: 800,000 features of 1,280 numbers.
const DEFAULT_LIMIT: u64 = 4 << 30;
/// The environment variable with another limit, in GiB.
const LIMIT: &str = "PRESCIENT_FEATURES_GIB";
const EXTENSION: &str = "features";
/// How many have written in this process.
static WRITERS: AtomicU64 = AtomicU64::new(0);

/// The features of one network in one view.
pub struct FeatureCache {
    /// None: what is learned here is kept in memory alone.
    shelf: Option<PathBuf>,
    width: usize,
    parts: Vec<Mapped>,
    /// Where the feature of an image lies: part and row.
    places: HashMap<blake3::Hash, (usize, usize)>,
    /// Not written yet.
    fresh: Vec<Row>,
    fresh_places: HashMap<blake3::Hash, usize>,
}

/// What the cache holds: for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// Parts, each from one task of one run.
    pub parts: usize,
    /// Features.
    pub features: u64,
    /// On disk.
    pub bytes: u64,
}

/// Where features are kept: `PRESCIENT_FEATURES`, else `prescient/features` in the user's cache. None where there is none.
pub fn features_root() -> Option<PathBuf> {
    let under = |name: &str, rest: &str| {
        let folder = std::env::var_os(name).filter(|folder| !folder.is_empty());
        folder.map(|folder| Path::new(&folder).join(rest))
    };
    under("PRESCIENT_FEATURES", "")
        .or_else(|| under("XDG_CACHE_HOME", "prescient/features"))
        .or_else(|| under("HOME", ".cache/prescient/features"))
}

impl FeatureCache {
    /// The features below `root` of the network that `about` names (its weights, its view), each of `width` numbers.
    ///
    /// Every part is checked against its digest.
    pub fn open(root: &Path, about: &str, width: usize) -> Result<Self, RunError> {
        let shelf = root.join(&blake3::hash(about.as_bytes()).to_hex()[..16]);
        let mut cache = Self { shelf: Some(shelf.clone()), ..Self::in_memory(width) };
        for path in parts(&shelf)? {
            let part = match Mapped::open(&path) {
                Ok(part) => part,
                // Another run made room meanwhile.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(RunError::io(&path)(error)),
            };
            let (found, count) = verified(&part).map_err(|reason| damaged(&path, reason))?;
            if found != width {
                return Err(damaged(&path, format!("expected features of {width} numbers, found {found}")));
            }
            for row in 0..count {
                cache.places.insert(feature_file::photo(&part, row), (cache.parts.len(), row));
            }
            // It was used: parts that were not go first. Not every file system lets us; then its age decides.
            let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
            cache.parts.push(part);
        }
        Ok(cache)
    }

    /// Features of `width` numbers that nobody keeps.
    pub fn in_memory(width: usize) -> Self {
        let (parts, fresh) = (Vec::new(), Vec::new());
        Self { shelf: None, width, parts, places: HashMap::new(), fresh, fresh_places: HashMap::new() }
    }

    /// How many numbers a feature has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether the feature of an image is at hand.
    pub fn has(&self, image: &blake3::Hash) -> bool {
        self.places.contains_key(image) || self.fresh_places.contains_key(image)
    }

    /// Appends the feature of an image to `out`; whether it was at hand.
    pub fn append(&self, image: &blake3::Hash, out: &mut Vec<f32>) -> bool {
        if let Some(&(part, row)) = self.places.get(image) {
            feature_file::append(&self.parts[part], row, out);
            return true;
        }
        match self.fresh_places.get(image) {
            Some(&place) => {
                out.extend_from_slice(&self.fresh[place].1);
                true
            }
            None => false,
        }
    }

    /// Takes a feature over; [`flush`](Self::flush) writes it.
    ///
    /// # Panics
    /// If it has another width.
    pub fn insert(&mut self, image: blake3::Hash, feature: Vec<f32>) {
        assert_eq!(feature.len(), self.width, "a feature of this network");
        if !self.has(&image) {
            self.fresh_places.insert(image, self.fresh.len());
            self.fresh.push((image, feature));
        }
    }

    /// How many features are new and not written.
    pub fn unwritten(&self) -> usize {
        self.fresh.len()
    }

    /// Lets go of what is new and not written.
    pub fn forget(&mut self) {
        self.fresh.clear();
        self.fresh_places.clear();
    }

    /// Writes what is new, and makes room where there is too much. What is at hand stays at hand.
    pub fn flush(&mut self) -> Result<(), RunError> {
        let Some(shelf) = self.shelf.clone().filter(|_| !self.fresh.is_empty()) else { return Ok(()) };
        std::fs::create_dir_all(&shelf).map_err(RunError::io(&shelf))?;
        let (bytes, digest) = feature_file::to_bytes(self.width, &self.fresh);
        let path = shelf.join(format!("{}.{EXTENSION}", &digest.to_hex()[..16]));
        // Runs of one process may write the same features at the same time.
        let writer = WRITERS.fetch_add(1, Ordering::Relaxed);
        let temporary = shelf.join(format!("{}.{}.{writer}.tmp", &digest.to_hex()[..16], std::process::id()));
        let written = File::create(&temporary).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()
        });
        let renamed = written.and_then(|()| std::fs::rename(&temporary, &path));
        if let Err(error) = renamed {
            let _ = std::fs::remove_file(&temporary);
            return Err(RunError::io(&path)(error));
        }
        let part = match Mapped::open(&path) {
            Ok(part) => part,
            // Another run made room meanwhile: what is new stays in memory.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(RunError::io(&path)(error)),
        };
        for (row, (key, _)) in self.fresh.drain(..).enumerate() {
            self.places.insert(key, (self.parts.len(), row));
        }
        self.fresh_places.clear();
        self.parts.push(part);
        match shelf.parent() {
            Some(root) => make_room(root, cache_limit(), &path),
            None => Ok(()),
        }
    }
}

/// What lies in the cache below `root`.
pub fn cache_size(root: &Path) -> Result<CacheSize, RunError> {
    let mut size = CacheSize::default();
    for path in all_parts(root)? {
        let part = Mapped::open(&path).map_err(RunError::io(&path))?;
        let (_, count) = checked_counts(&part).map_err(|reason| damaged(&path, reason))?;
        size.parts += 1;
        size.features += count as u64;
        size.bytes += part.len() as u64;
    }
    Ok(size)
}

/// Checks every part below `root` against its digest; comes back with those that are not as they were written.
pub fn check_cache(root: &Path) -> Result<Vec<RunError>, RunError> {
    let check = |path: &PathBuf| match Mapped::open(path) {
        Ok(part) => verified(&part).err().map(|reason| damaged(path, reason)),
        Err(error) => Some(RunError::io(path)(error)),
    };
    Ok(all_parts(root)?.iter().filter_map(check).collect())
}

/// Deletes every part below `root`.
pub fn clear_cache(root: &Path) -> Result<(), RunError> {
    all_parts(root)?.iter().try_for_each(|path| std::fs::remove_file(path).map_err(RunError::io(path)))
}

/// How much the cache may hold, in bytes: `PRESCIENT_FEATURES_GIB`, else 4 GiB.
pub fn cache_limit() -> u64 {
    let given = std::env::var(LIMIT).ok().and_then(|text| text.trim().parse::<f64>().ok());
    given.filter(|gib| *gib >= 0.0).map_or(DEFAULT_LIMIT, |gib| (gib * (1u64 << 30) as f64) as u64)
}

/// Deletes the parts that were not used for longest until all take at most `limit` bytes. `newest` stays.
fn make_room(root: &Path, limit: u64, newest: &Path) -> Result<(), RunError> {
    let mut known: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for path in all_parts(root)? {
        if let Ok(about) = std::fs::metadata(&path) {
            known.push((about.modified().unwrap_or(SystemTime::UNIX_EPOCH), about.len(), path));
        }
    }
    let mut total: u64 = known.iter().map(|(_, bytes, _)| bytes).sum();
    known.sort();
    for (_, bytes, path) in known.into_iter().filter(|(_, _, path)| path != newest) {
        if total <= limit {
            break;
        }
        match std::fs::remove_file(&path) {
            // Another process was quicker.
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(RunError::io(&path)(error)),
            _ => total -= bytes,
        }
    }
    Ok(())
}

fn damaged(path: &Path, reason: String) -> RunError {
    RunError::DamagedCache { path: path.to_owned(), reason }
}

/// The parts of a shelf, by name.
fn parts(shelf: &Path) -> Result<Vec<PathBuf>, RunError> {
    let mut parts: Vec<PathBuf> = entries(shelf)?;
    parts.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
    Ok(parts)
}

fn all_parts(root: &Path) -> Result<Vec<PathBuf>, RunError> {
    let shelves = entries(root)?.into_iter().filter(|path| path.is_dir());
    let found: Result<Vec<Vec<PathBuf>>, RunError> = shelves.map(|shelf| parts(&shelf)).collect();
    Ok(found?.concat())
}

/// What lies in a folder, by name: nothing where there is none.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RunError::io(folder)(error)),
    };
    let mut entries = Vec::new();
    for entry in listing {
        entries.push(entry.map_err(RunError::io(folder))?.path());
    }
    entries.sort();
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> blake3::Hash {
        blake3::hash(text.as_bytes())
    }

    fn filled(root: &Path, about: &str, names: &[&str]) -> FeatureCache {
        let mut cache = FeatureCache::open(root, about, 2).expect("a cache");
        for (place, name) in names.iter().enumerate() {
            cache.insert(key(name), vec![place as f32, 0.5]);
        }
        cache.flush().expect("written");
        cache
    }

    fn found(cache: &FeatureCache, name: &str) -> Option<Vec<f32>> {
        let mut out = Vec::new();
        cache.append(&key(name), &mut out).then_some(out)
    }

    #[test]
    fn a_feature_is_found_by_image_weights_and_view() {
        let root = tempfile::tempdir().expect("a folder");
        let first = filled(root.path(), "net, 224", &["a", "b"]);
        assert_eq!(found(&first, "b"), Some(vec![1.0, 0.5]));
        let again = FeatureCache::open(root.path(), "net, 224", 2).expect("the same shelf");
        assert_eq!((found(&again, "a"), found(&again, "c")), (Some(vec![0.0, 0.5]), None));
        let other = FeatureCache::open(root.path(), "net, 160", 2).expect("another shelf");
        assert_eq!(found(&other, "a"), None);
        assert_eq!(cache_size(root.path()).expect("a size"), CacheSize { parts: 1, features: 2, bytes: 56 + 2 * 40 });
        clear_cache(root.path()).expect("cleared");
        assert_eq!(found(&FeatureCache::open(root.path(), "net, 224", 2).expect("empty"), "a"), None);
        // Whoever has it open keeps it.
        assert_eq!(found(&again, "a"), Some(vec![0.0, 0.5]));
    }

    #[test]
    fn two_runs_add_to_each_other() {
        let root = tempfile::tempdir().expect("a folder");
        let mut one = FeatureCache::open(root.path(), "net", 1).expect("a cache");
        let mut two = FeatureCache::open(root.path(), "net", 1).expect("a cache");
        one.insert(key("a"), vec![1.0]);
        two.insert(key("b"), vec![2.0]);
        two.insert(key("a"), vec![1.0]);
        one.flush().and_then(|()| two.flush()).expect("both written");
        let all = FeatureCache::open(root.path(), "net", 1).expect("both");
        assert_eq!((found(&all, "a"), found(&all, "b")), (Some(vec![1.0]), Some(vec![2.0])));
    }

    /// Each opens the cache while it is empty, and then all write the same.
    #[test]
    fn runs_of_one_process_write_the_same_at_the_same_time() {
        let root = tempfile::tempdir().expect("a folder");
        let ready = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut cache = FeatureCache::open(root.path(), "net", 512).expect("a cache");
                    (0..100).for_each(|photo| cache.insert(key(&photo.to_string()), vec![photo as f32; 512]));
                    ready.wait();
                    cache.flush().expect("written by each");
                    assert_eq!(found(&cache, "99"), Some(vec![99.0; 512]));
                });
            }
        });
        assert_eq!(cache_size(root.path()).expect("a size").features, 100);
    }

    #[test]
    fn any_flipped_byte_and_any_cut_is_told() {
        let root = tempfile::tempdir().expect("a folder");
        drop(filled(root.path(), "net", &["a", "b", "c"]));
        let path = all_parts(root.path()).expect("a listing").remove(0);
        let whole = std::fs::read(&path).expect("a part");
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("written");
            let error = FeatureCache::open(root.path(), "net", 2).err().map(|error| error.to_string());
            assert!(error.as_ref().is_some_and(|error| error.contains(".features")), "{error:?}");
            assert_eq!(check_cache(root.path()).expect("a check").len(), 1);
        };
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x40;
            refused(&bytes);
        }
        for length in 0..whole.len() {
            refused(&whole[..length]);
        }
        std::fs::write(&path, &whole).expect("written");
        assert!(check_cache(root.path()).expect("a check").is_empty());
    }

    /// Three parts of 96 bytes with room for two: the one that was not used for longest goes.
    #[test]
    fn the_least_used_goes_first() {
        let root = tempfile::tempdir().expect("a folder");
        for name in ["a", "b", "c"] {
            drop(filled(root.path(), name, &[name]));
        }
        let mut all = all_parts(root.path()).expect("a listing");
        for (place, path) in all.iter().enumerate() {
            let age = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(100 - place as u64);
            File::options().append(true).open(path).and_then(|file| file.set_modified(age)).expect("an age");
        }
        make_room(root.path(), 200, &all[0]).expect("room");
        let oldest = all.pop().expect("three");
        assert_eq!(all_parts(root.path()).expect("a listing"), all);
        assert!(!oldest.exists());
    }
}
