//! Images of one's own: `train/CLASS/*` and `test/CLASS/*` in a folder or a zip archive, and tables of attributes.

use super::archive::Archive;
use super::{Catalogue, Dataset, Image, Normalization, Sample, Subset};
use crate::class::ClassId;
use crate::error::DataError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What counts as an image, in any case.
const EXTENSIONS: [&str; 6] = ["jpg", "jpeg", "png", "bmp", "gif", "webp"];
/// Images that are larger are looked at in this size unless a recipe says otherwise.
const LARGEST: u32 = 224;

const LAYOUT: &str = "images are expected as `train/CLASS/*.jpg` and `test/CLASS/*.jpg`, each class on both sides";

/// Where the images and the attributes are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderSettings {
    /// A folder or a zip archive with `train/CLASS/*` and `test/CLASS/*`.
    pub path: PathBuf,
    /// Tables of attributes (CSV: `class,ATTRIBUTE,…`), joined by the name of the class. The first gives the order of
    /// the classes.
    #[serde(default)]
    pub attributes: Vec<PathBuf>,
}

/// Images in folders by class.
pub struct Folder {
    path: PathBuf,
    store: Store,
    catalogue: Catalogue,
    train: Side,
    test: Side,
    size: u32,
}

/// Where the bytes come from.
enum Store {
    Directory,
    /// With what stands before `train/` in the archive's names: nothing, or a folder and `/`.
    Archive(Archive, String),
}

/// The images of one side: class by class, each in the order of their names.
struct Side {
    samples: Vec<Sample>,
    /// As in `train/cat/0001.jpg`.
    names: Vec<String>,
}

/// The names of the images of each class of one side.
type Classes = BTreeMap<String, Vec<String>>;

impl Folder {
    /// Finds all images and reads all attributes; of the images, only the first is opened.
    pub fn open(path: &Path, attributes: &[PathBuf]) -> Result<Self, DataError> {
        let kind = fs::metadata(path).map_err(DataError::io(path))?;
        let (store, listing) = if kind.is_dir() {
            (Store::Directory, list_directory(path)?)
        } else {
            let archive = Archive::open(path).map_err(neither_nor)?;
            let top = top_folder(&archive);
            let listing = archive.names().filter_map(|name| name.strip_prefix(&top)).map(String::from).collect();
            (Store::Archive(archive, top), listing)
        };
        let (train, test) = by_class(path, &listing)?;
        compare_sides(path, &train, &test)?;
        let catalogue = catalogue(path, train.keys().cloned().collect(), attributes)?;

        let (train, test) = (Side::new(Subset::Train, train, &catalogue), Side::new(Subset::Test, test, &catalogue));
        let mut folder = Self { path: path.to_owned(), store, catalogue, train, test, size: LARGEST };
        let first = folder.image(&folder.train.samples[0])?;
        folder.size = first.width.min(first.height).min(LARGEST);
        Ok(folder)
    }

    fn side(&self, subset: Subset) -> &Side {
        match subset {
            Subset::Train => &self.train,
            Subset::Test => &self.test,
        }
    }
}

impl Side {
    fn new(subset: Subset, mut classes: Classes, catalogue: &Catalogue) -> Self {
        let (mut samples, mut names) = (Vec::new(), Vec::new());
        for (index, class) in catalogue.names().iter().enumerate() {
            let mut files = classes.remove(class).expect("the sides have been compared with the catalogue");
            files.sort();
            for name in files {
                let place = u32::try_from(samples.len()).expect("fewer than 2³² images");
                samples.push(Sample { subset, index: place, class: ClassId(index as u16) });
                names.push(name);
            }
        }
        Self { samples, names }
    }
}

impl Dataset for Folder {
    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        &self.side(subset).samples
    }

    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        let name = &self.side(sample.subset).names[sample.index as usize];
        let (path, bytes) = match &self.store {
            Store::Directory => {
                let path = self.path.join(name);
                let bytes = fs::read(&path).map_err(DataError::io(&path))?;
                (path, bytes)
            }
            Store::Archive(archive, top) => {
                let name = format!("{top}{name}");
                (self.path.join(&name), archive.read(&name)?)
            }
        };
        Image::decode(&bytes, self.channels(), &path)
    }

    fn name(&self, sample: &Sample) -> String {
        self.side(sample.subset).names[sample.index as usize].clone()
    }

    fn channels(&self) -> u8 {
        3
    }

    /// ImageNet's.
    fn normalization(&self) -> Normalization {
        Normalization { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] }
    }

    /// The shorter side of the first training image, at most 224.
    fn size(&self) -> u32 {
        self.size
    }
}

/// What lies below `train` and `test`, to the depth at which nothing should lie any more. Folders end in `/`.
fn list_directory(root: &Path) -> Result<Vec<String>, DataError> {
    let mut listing = Vec::new();
    for side in ["train", "test"] {
        if root.join(side).is_dir() {
            listing.push(format!("{side}/"));
            for class in entries(root, &format!("{side}/"))? {
                if class.ends_with('/') {
                    listing.extend(entries(root, &class)?);
                }
                listing.push(class);
            }
        }
    }
    Ok(listing)
}

/// What lies in the folder `within`, its name in front.
fn entries(root: &Path, within: &str) -> Result<Vec<String>, DataError> {
    let folder = root.join(within);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(DataError::io(&folder))? {
        let path = entry.map_err(DataError::io(&folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
            malformed(
                &path,
                "a name in UTF-8",
                "another encoding",
                "rename the file: names of classes and images are text",
            )
        })?;
        // Links are followed: a folder of links is a common way to select images.
        names.push(format!("{within}{name}{}", if path.is_dir() { "/" } else { "" }));
    }
    Ok(names)
}

/// The one folder of an archive in which all the rest lies, with a `/`; empty where `train` is not in a folder.
fn top_folder(archive: &Archive) -> String {
    let is_side = |name: &str| name.starts_with("train/") || name.starts_with("test/");
    let mut names = archive.names().filter(|name| !is_skipped(name));
    if archive.names().any(is_side) {
        return String::new();
    }
    let top = names.next().and_then(|name| name.split_once('/')).map(|(top, _)| format!("{top}/"));
    top.filter(|top| names.all(|name| name.starts_with(top.as_str()))).unwrap_or_default()
}

/// Sorts a listing into the images of the classes of both sides.
fn by_class(root: &Path, listing: &[String]) -> Result<(Classes, Classes), DataError> {
    let (mut train, mut test) = (Classes::new(), Classes::new());
    let mut found = [false; 2];
    for name in listing.iter().filter(|name| !is_skipped(name)) {
        let is_folder = name.ends_with('/');
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
        let (classes, found) = match parts.first() {
            Some(&"train") => (&mut train, &mut found[0]),
            Some(&"test") => (&mut test, &mut found[1]),
            _ => continue,
        };
        *found |= is_folder || parts.len() > 1;
        match (&parts[1..], is_folder) {
            ([], _) => {}
            ([class], true) => drop(classes.entry((*class).to_owned()).or_default()),
            ([_], false) => {
                return Err(malformed(&root.join(name), "a folder for each class here", "a file", LAYOUT));
            }
            ([class, file], false) => {
                if !is_image(file) {
                    let hint = "only jpg, jpeg, png, bmp, gif and webp are read: take other files away";
                    return Err(malformed(&root.join(name), "an image", "a file of another kind", hint));
                }
                classes.entry((*class).to_owned()).or_default().push(parts.join("/"));
            }
            ([_, _, ..], _) => {
                return Err(malformed(&root.join(name), "images in the folder of a class", "a folder in it", LAYOUT));
            }
        }
    }
    for (side, found) in ["train", "test"].into_iter().zip(found) {
        if !found {
            return Err(malformed(root, &format!("a folder `{side}` in it"), "none", LAYOUT));
        }
    }
    Ok((train, test))
}

/// Whether each class is on both sides, with images.
fn compare_sides(root: &Path, train: &Classes, test: &Classes) -> Result<(), DataError> {
    for ((side, classes), (other_side, others)) in
        [(("train", train), ("test", test)), (("test", test), ("train", train))]
    {
        for (class, images) in classes {
            if images.is_empty() {
                return Err(malformed(&root.join(side).join(class), "images of the class", "none", LAYOUT));
            }
            if !others.contains_key(class) {
                let expected = format!("a folder `{class}`, as in `{side}`");
                return Err(malformed(&root.join(other_side), &expected, "none", LAYOUT));
            }
        }
    }
    if train.is_empty() {
        return Err(malformed(&root.join("train"), "a folder for each class", "none", LAYOUT));
    }
    if train.len() > usize::from(u16::MAX) {
        let found = format!("{}", train.len());
        return Err(malformed(&root.join("train"), "at most 65,535 classes", &found, LAYOUT));
    }
    Ok(())
}

/// The classes in the order of the first table, with the attributes of all tables; without one, in order of their names.
fn catalogue(images: &Path, classes: Vec<String>, tables: &[PathBuf]) -> Result<Catalogue, DataError> {
    let mut joined: Option<Catalogue> = None;
    for path in tables {
        let bytes = fs::read(path).map_err(DataError::io(path))?;
        let table = Catalogue::from_csv(&bytes, path)?;
        let only_images: Vec<String> = classes.iter().filter(|class| table.find(class).is_none()).cloned().collect();
        let only_attributes: Vec<String> =
            table.names().iter().filter(|name| classes.binary_search(name).is_err()).cloned().collect();
        if !only_images.is_empty() || !only_attributes.is_empty() {
            let (images, attributes) = (images.to_owned(), path.to_owned());
            return Err(DataError::Classes { images, attributes, only_images, only_attributes });
        }
        joined = Some(match joined {
            Some(before) => before.joined(&table),
            None => table,
        });
    }
    Ok(joined.unwrap_or_else(|| Catalogue::bare(classes)))
}

/// What systems leave behind: hidden files, and those of macOS and Windows.
fn is_skipped(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.') || part == "__MACOSX" || part.eq_ignore_ascii_case("thumbs.db"))
}

fn is_image(file: &str) -> bool {
    let extension = file.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}

/// A file that is no zip archive is no folder either.
fn neither_nor(error: DataError) -> DataError {
    match error {
        DataError::Malformed { path, line, found, hint, .. } => {
            DataError::Malformed { path, line, expected: "a folder or a zip archive".to_owned(), found, hint }
        }
        other => other,
    }
}

fn malformed(path: &Path, expected: &str, found: &str, hint: &str) -> DataError {
    DataError::Malformed {
        path: path.to_owned(),
        line: None,
        expected: expected.to_owned(),
        found: found.to_owned(),
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use tempfile::TempDir;

    const GOOD: [&str; 5] =
        ["train/dog/2.png", "train/dog/1.PNG", "train/cat/1.png", "test/cat/9.png", "test/dog/8.png"];

    /// A PNG, three pixels wide and two high, of one grey.
    fn png(grey: u8) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.png");
        let image = Image { width: 3, height: 2, channels: 1, pixels: vec![grey; 6] };
        image.write_png(&path).expect("a file");
        fs::read(path).expect("the file")
    }

    /// A folder with these files (folders end in `/`); the i-th image is of grey i.
    fn tree(names: &[&str]) -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (index, name) in names.iter().enumerate() {
            let path = folder.path().join(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).expect("a folder");
            } else {
                fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                fs::write(path, png(index as u8)).expect("a file");
            }
        }
        folder
    }

    /// The same as an archive.
    fn zipped(names: &[&str]) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("images.zip");
        let mut writer = zip::ZipWriter::new(fs::File::create(&path).expect("a file"));
        for (index, name) in names.iter().enumerate() {
            let options = zip::write::SimpleFileOptions::default();
            if name.ends_with('/') {
                writer.add_directory(*name, options).expect("a folder");
            } else {
                writer.start_file(*name, options).expect("a file");
                writer.write_all(&png(index as u8)).expect("bytes");
            }
        }
        writer.finish().expect("an archive");
        (folder, path)
    }

    fn table(text: &str) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        fs::write(&path, text).expect("a file");
        (folder, path)
    }

    /// What is said of a tree, without the folder's name, for a folder and for an archive: the same.
    fn says(names: &[&str]) -> String {
        let folder = tree(names);
        let text = Folder::open(folder.path(), &[]).err().expect("a fault").to_string();
        let root = folder.path().display().to_string();
        let of_folder = text.replace(&format!("{root}/"), "").replace(&root, "ROOT");

        let (_folder, path) = zipped(names);
        let text = Folder::open(&path, &[]).err().expect("a fault").to_string();
        let root = path.display().to_string();
        let of_archive = text.replace(&format!("{root}/"), "").replace(&root, "ROOT");
        assert_eq!(of_folder, of_archive);
        of_folder
    }

    fn names(data: &Folder, subset: Subset) -> Vec<String> {
        data.samples(subset).iter().map(|sample| data.name(sample)).collect()
    }

    fn check_good(data: &Folder) {
        assert_eq!(data.catalogue().names(), ["cat", "dog"]);
        assert_eq!(names(data, Subset::Train), ["train/cat/1.png", "train/dog/1.PNG", "train/dog/2.png"]);
        assert_eq!(names(data, Subset::Test), ["test/cat/9.png", "test/dog/8.png"]);
        assert_eq!(data.size(), 2);
        let last = data.samples(Subset::Train)[2];
        assert_eq!((last.class, last.index), (ClassId(1), 2));
        let image = data.image(&last).expect("an image");
        assert_eq!((image.width, image.height, image.channels), (3, 2, 3));
        assert_eq!(data.image(&data.samples(Subset::Test)[0]).expect("an image").pixels, [3; 18]);
    }

    #[test]
    fn folders_and_archives_read_alike() {
        let folder = tree(&GOOD);
        check_good(&Folder::open(folder.path(), &[]).expect("a folder"));
        let (_folder, path) = zipped(&GOOD);
        check_good(&Folder::open(&path, &[]).expect("an archive"));
    }

    #[test]
    fn an_archive_may_have_a_folder_on_top() {
        let inside: Vec<String> = GOOD.iter().map(|name| format!("pets/{name}")).collect();
        let mut inside: Vec<&str> = inside.iter().map(String::as_str).collect();
        inside.extend(["__MACOSX/pets/train/cat/._1.png", "pets/README.txt"]);
        let (_folder, path) = zipped(&inside);
        check_good(&Folder::open(&path, &[]).expect("an archive"));
    }

    #[test]
    fn what_systems_leave_behind_is_skipped() {
        let left = ["train/.DS_Store", "train/cat/Thumbs.db", "test/__MACOSX/x.png", "README.txt", "val/cat/1.txt"];
        let all = [&GOOD[..], &left].concat();
        let folder = tree(&all);
        check_good(&Folder::open(folder.path(), &[]).expect("a folder"));
        let (_folder, path) = zipped(&all);
        check_good(&Folder::open(&path, &[]).expect("an archive"));
    }

    #[test]
    fn names_that_point_outside_do_no_harm() {
        let (_folder, path) = zipped(&[&GOOD[..], &["../../x.png", "train/../../y.png", "/z.png"]].concat());
        check_good(&Folder::open(&path, &[]).expect("an archive"));
    }

    #[test]
    fn the_first_table_gives_the_order() {
        let (_one, first) = table("class,legs\ndog,4\ncat,3\n");
        let (_two, second) = table("class,purrs\ncat,1\ndog,0\n");
        let folder = tree(&GOOD);
        let data = Folder::open(folder.path(), &[first, second]).expect("data");
        assert_eq!(data.catalogue().names(), ["dog", "cat"]);
        assert_eq!(data.catalogue().attribute_names(), ["legs", "purrs"]);
        assert_eq!(data.catalogue().attributes(ClassId(0)), [4.0, 0.0]);
        assert_eq!(names(&data, Subset::Train)[0], "train/dog/1.PNG");
        assert_eq!(data.samples(Subset::Train)[2].class, ClassId(1));
    }

    #[test]
    fn other_classes_in_a_table_are_told_both_ways() {
        let (_table, path) = table("class,legs\ncat,4\nwhale,0\n");
        let folder = tree(&GOOD);
        match Folder::open(folder.path(), &[path]).err() {
            Some(DataError::Classes { only_images, only_attributes, .. }) => {
                assert_eq!(only_images, ["dog"]);
                assert_eq!(only_attributes, ["whale"]);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_wrong_path_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("none");
        assert!(matches!(Folder::open(&missing, &[]), Err(DataError::Io { path, .. }) if path == missing));
        let (_table, csv) = table("class,legs\n");
        let text = Folder::open(&csv, &[]).err().expect("a fault").to_string();
        assert!(text.contains("a.csv`: expected a folder or a zip archive, found one that cannot be read"), "{text}");
        let good = tree(&GOOD);
        assert!(matches!(Folder::open(good.path(), &[missing]), Err(DataError::Io { .. })));
    }

    #[test]
    fn a_missing_side_is_told() {
        assert_eq!(says(&["a.png"]), "`ROOT`: expected a folder `train` in it, found none");
        assert_eq!(says(&["train/cat/1.png"]), "`ROOT`: expected a folder `test` in it, found none");
        assert_eq!(says(&["test/cat/1.png"]), "`ROOT`: expected a folder `train` in it, found none");
        assert_eq!(says(&["train/", "test/"]), "`train`: expected a folder for each class, found none");
    }

    #[test]
    fn a_class_on_one_side_is_told() {
        let text = says(&["train/cat/1.png", "train/dog/1.png", "test/cat/1.png"]);
        assert_eq!(text, "`test`: expected a folder `dog`, as in `train`, found none");
        let text = says(&["train/cat/1.png", "test/dog/1.png", "test/cat/1.png"]);
        assert_eq!(text, "`train`: expected a folder `dog`, as in `test`, found none");
    }

    #[test]
    fn a_class_without_images_is_told() {
        let text = says(&["train/cat/1.png", "train/dog/", "test/dog/1.png", "test/cat/1.png"]);
        assert_eq!(text, "`train/dog`: expected images of the class, found none");
        let text = says(&["train/cat/1.png", "train/dog/1.png", "test/dog/.hidden.png", "test/dog/", "test/cat/1.png"]);
        assert_eq!(text, "`test/dog`: expected images of the class, found none");
    }

    #[test]
    fn what_is_no_image_is_told() {
        let text = says(&[&GOOD[..], &["train/cat/notes.txt"]].concat());
        assert_eq!(text, "`train/cat/notes.txt`: expected an image, found a file of another kind");
        let text = says(&[&GOOD[..], &["train/cat/png"]].concat());
        assert_eq!(text, "`train/cat/png`: expected an image, found a file of another kind");
        let text = says(&[&GOOD[..], &["train/1.png"]].concat());
        assert_eq!(text, "`train/1.png`: expected a folder for each class here, found a file");
        let text = says(&[&GOOD[..], &["test/cat/young/"]].concat());
        assert_eq!(text, "`test/cat/young/`: expected images in the folder of a class, found a folder in it");
    }

    #[test]
    fn an_image_that_does_not_decode_is_told_by_its_path() {
        let folder = tree(&GOOD);
        fs::write(folder.path().join("test/dog/8.png"), b"not a png").expect("a file");
        let data = Folder::open(folder.path(), &[]).expect("data");
        let error = data.image(&data.samples(Subset::Test)[1]).expect_err("no image");
        assert!(matches!(error, DataError::Image { path, .. } if path == folder.path().join("test/dog/8.png")));

        let (_folder, path) = zipped(&["train/cat/1.png", "test/cat/1.png"]);
        let mut bytes = fs::read(&path).expect("bytes");
        let at = bytes.len() - 5;
        bytes[at] ^= 0xff;
        fs::write(&path, bytes).expect("a damaged archive");
        assert!(matches!(Folder::open(&path, &[]), Err(DataError::Malformed { .. })));
    }

    #[test]
    fn the_real_animals_are_read() {
        let Some(folder) = real_data("animals12") else { return };
        let data = Folder::open(&folder.join("images.zip"), &[folder.join("attributes.csv")]).expect("animals12");
        assert_eq!(data.catalogue().len(), 12);
        assert_eq!(data.catalogue().attribute_names().len(), 85);
        assert_eq!(data.size(), 64);
        for (subset, each) in [(Subset::Train, 500), (Subset::Test, 50)] {
            for class in 0..12 {
                let count = data.samples(subset).iter().filter(|sample| sample.class == ClassId(class)).count();
                assert_eq!(count, each);
            }
        }
        for sample in data.samples(Subset::Test) {
            let image = data.image(sample).expect("an image");
            assert_eq!((image.width, image.height, image.channels), (64, 64, 3));
        }
    }

    /// A folder of the real data, where it is at hand.
    fn real_data(sub: &str) -> Option<PathBuf> {
        let root = std::env::var_os("PRESCIENT_DATA").map(PathBuf::from);
        let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"));
        let folder = root.join(sub);
        if !folder.exists() {
            eprintln!("left out: `{}` is not here", folder.display());
            return None;
        }
        Some(folder)
    }
}
