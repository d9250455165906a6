//! Images of one's own: `train/CLASS/*` and `test/CLASS/*` in a folder or a zip archive, and class information.

use crate::catalogue::{AttributeSource, Catalogue, Scale, class_information};
use crate::data::datasets::photos::{Classes, Photos, Survey, fault, images_of_class};
use crate::data::formats::files::Files;
use crate::data::{Dataset, Image, Normalization, Sample, Subset};
use crate::error::DataError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Images that are larger are looked at in this size unless a recipe says otherwise.
const LARGEST: u32 = 224;

const LAYOUT: &str = "images are expected as `train/CLASS/*.jpg` and `test/CLASS/*.jpg`, each class on both sides";

const EXCLUDE: &str = "`exclude` names images as they lie below the dataset's folder or archive, such as \
                         `train/cat/0001.jpg`; one that is gone need not be excluded any more";

/// Where the images and the attributes are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderSettings {
    /// A folder or a zip archive with `train/CLASS/*` and `test/CLASS/*`.
    pub path: PathBuf,
    /// Where the attributes come from, joined by the name of the class. The first gives the order of the classes.
    #[serde(default)]
    pub attributes: Vec<AttributeSource>,
    /// How the attributes of each source are scaled.
    #[serde(default)]
    pub scale: Scale,
    /// Images that are left out, as in `train/cat/0001.jpg`: copies of a test image, or what shows something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

impl FolderSettings {
    /// Images alone: nothing is known of their classes, and none is left out.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), attributes: Vec::new(), scale: Scale::default(), exclude: Vec::new() }
    }
}

/// Images in folders by class.
pub struct Folder {
    photos: Photos,
    catalogue: Catalogue,
    size: u32,
}

impl Folder {
    /// Finds all images and reads all attributes; of the images, only the first is opened.
    pub fn open(path: &Path, settings: &FolderSettings) -> Result<Self, DataError> {
        let files = files(path)?;
        let (train, test) = survey(&files, &settings.exclude).sides()?;
        let classes = train.keys().cloned().collect();
        let catalogue = class_information(path, classes, &settings.attributes, settings.scale)?;

        let photos = Photos::new(files, &catalogue, train, test);
        let first = photos.image(&photos.samples(Subset::Train)[0])?;
        let size = first.width.min(first.height).min(LARGEST);
        Ok(Self { photos, catalogue, size })
    }
}

/// The folder or archive in which `train` and `test` lie. An archive often has all of it in one folder.
pub(crate) fn files(path: &Path) -> Result<Files, DataError> {
    let files = Files::open(path)?;
    let top = files.entries("")?;
    match &top[..] {
        [only] if only.ends_with('/') && !["train/", "test/"].contains(&only.as_str()) => Ok(files.inside(only)),
        _ => Ok(files),
    }
}

impl Dataset for Folder {
    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        self.photos.samples(subset)
    }

    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        self.photos.image(sample)
    }

    fn name(&self, sample: &Sample) -> String {
        self.photos.name(sample).to_owned()
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

/// Finds the images of both sides without those left out, and whatever is wrong with the layout.
pub(crate) fn survey(files: &Files, exclude: &[String]) -> Survey {
    let mut faults = Vec::new();
    let mut train = side(files, "train", &mut faults);
    let mut test = side(files, "test", &mut faults);
    for name in exclude {
        let images = train.values_mut().chain(test.values_mut());
        let found: Vec<_> = images.filter(|images| images.contains(name)).collect();
        if found.is_empty() {
            faults.push(fault(files, name, "an image to exclude", "none", EXCLUDE));
        }
        found.into_iter().for_each(|images| images.retain(|image| image != name));
    }
    if faults.is_empty() && train.is_empty() {
        faults.push(fault(files, "train", "a folder for each class", "none", LAYOUT));
    }
    if train.len() > usize::from(u16::MAX) {
        faults.push(fault(files, "train", "at most 65,535 classes", &train.len().to_string(), LAYOUT));
    }
    for (classes, side, others, other_side) in [(&train, "train", &test, "test"), (&test, "test", &train, "train")] {
        for (class, images) in classes {
            if images.is_empty() {
                faults.push(fault(files, &format!("{side}/{class}"), "images of the class", "none", LAYOUT));
            }
            if !others.contains_key(class) && files.has(&format!("{other_side}/")) {
                let expected = format!("a folder `{class}`, as in `{side}`");
                faults.push(fault(files, other_side, &expected, "none", LAYOUT));
            }
        }
    }
    Survey { train, test, faults }
}

/// The images of each class of one side.
fn side(files: &Files, side: &str, faults: &mut Vec<DataError>) -> Classes {
    let mut classes = Classes::new();
    let below = format!("{side}/");
    if !files.has(&below) {
        faults.push(fault(files, "", &format!("a folder `{side}` in it"), "none", LAYOUT));
        return classes;
    }
    let entries = files.entries(&below).unwrap_or_else(|error| {
        faults.push(error);
        Vec::new()
    });
    for entry in entries {
        match entry.strip_suffix('/') {
            Some(class) => {
                let images = images_of_class(files, &entry, LAYOUT, faults);
                classes.insert(class[below.len()..].to_owned(), images);
            }
            None => faults.push(fault(files, &entry, "a folder for each class here", "a file", LAYOUT)),
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::required::real_data;
    use crate::class::ClassId;
    use std::fs;
    use std::io::Write;
    use tempfile::TempDir;

    const GOOD: [&str; 5] =
        ["train/dog/2.png", "train/dog/1.PNG", "train/cat/1.png", "test/cat/9.png", "test/dog/8.png"];

    fn open(path: &Path, attributes: &[PathBuf]) -> Result<Folder, DataError> {
        let attributes: Vec<AttributeSource> = attributes.iter().map(AttributeSource::new).collect();
        Folder::open(path, &FolderSettings { attributes, ..FolderSettings::new(path) })
    }

    /// A PNG, three pixels wide and two high, of one grey.
    fn png(grey: u8) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.png");
        let image = Image { width: 3, height: 2, channels: 1, pixels: vec![grey; 6].into() };
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
        let text = open(folder.path(), &[]).err().expect("a fault").to_string();
        let root = folder.path().display().to_string();
        let of_folder = text.replace(&format!("{root}/"), "").replace(&root, "ROOT");

        let (_folder, path) = zipped(names);
        let text = open(&path, &[]).err().expect("a fault").to_string();
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
        assert_eq!(data.image(&data.samples(Subset::Test)[0]).expect("an image").pixels[..], [3; 18]);
    }

    #[test]
    fn folders_and_archives_read_alike() {
        let folder = tree(&GOOD);
        check_good(&open(folder.path(), &[]).expect("a folder"));
        let (_folder, path) = zipped(&GOOD);
        check_good(&open(&path, &[]).expect("an archive"));
    }

    #[test]
    fn an_archive_may_have_a_folder_on_top() {
        let inside: Vec<String> = GOOD.iter().map(|name| format!("pets/{name}")).collect();
        let mut inside: Vec<&str> = inside.iter().map(String::as_str).collect();
        inside.extend(["__MACOSX/pets/train/cat/._1.png", "pets/README.txt"]);
        let (_folder, path) = zipped(&inside);
        check_good(&open(&path, &[]).expect("an archive"));
    }

    #[test]
    fn what_systems_leave_behind_is_skipped() {
        let left = ["train/.DS_Store", "train/cat/Thumbs.db", "test/__MACOSX/x.png", "README.txt", "val/cat/1.txt"];
        let all = [&GOOD[..], &left].concat();
        let folder = tree(&all);
        check_good(&open(folder.path(), &[]).expect("a folder"));
        let (_folder, path) = zipped(&all);
        check_good(&open(&path, &[]).expect("an archive"));
    }

    #[test]
    fn names_that_point_outside_do_no_harm() {
        let (_folder, path) = zipped(&[&GOOD[..], &["../../x.png", "train/../../y.png", "/z.png"]].concat());
        check_good(&open(&path, &[]).expect("an archive"));
    }

    #[test]
    fn the_first_table_gives_the_order() {
        let (_one, first) = table("class,legs\ndog,4\ncat,3\n");
        let (_two, second) = table("class,purrs\ncat,1\ndog,0\n");
        let folder = tree(&GOOD);
        let data = open(folder.path(), &[first, second]).expect("data");
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
        match open(folder.path(), &[path]).err() {
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
        assert!(matches!(open(&missing, &[]), Err(DataError::Io { path, .. }) if path == missing));
        let (_table, csv) = table("class,legs\n");
        let text = open(&csv, &[]).err().expect("a fault").to_string();
        assert!(text.contains("a.csv`: expected a folder or a zip archive, found one that cannot be read"), "{text}");
        let good = tree(&GOOD);
        assert!(matches!(open(good.path(), &[missing]), Err(DataError::Io { .. })));
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

    /// Of `ox`, whose only test image is left out, none remains; a name that is not there is told as it would lie.
    #[test]
    fn what_is_left_out_is_not_there() {
        let names = [&GOOD[..], &["train/ox/1.png", "test/ox/1.png"]].concat();
        let folder = tree(&names);
        let (_folder, archive) = zipped(&names);
        for path in [folder.path(), archive.as_path()] {
            let without = |names: &[&str]| {
                let exclude = names.iter().map(|name| (*name).to_owned()).collect();
                Folder::open(path, &FolderSettings { exclude, ..FolderSettings::new(path) })
            };
            let data = without(&["train/dog/1.PNG"]).expect("data");
            let left = data.samples(Subset::Train).iter().map(|sample| data.name(sample)).collect::<Vec<_>>();
            assert_eq!(left, ["train/cat/1.png", "train/dog/2.png", "train/ox/1.png"]);
            assert_eq!(data.samples(Subset::Test).len(), 3);
            let says = |names: &[&str]| without(names).err().expect("a fault");
            let text = says(&["train/dog/1.png"]).to_string();
            assert!(text.ends_with("/train/dog/1.png`: expected an image to exclude, found none"), "{text}");
            assert!(says(&["dog/1.png"]).hint().is_some_and(|hint| hint.contains("such as `train/cat/0001.jpg`")));
            let text = says(&["test/ox/1.png"]).to_string();
            assert!(text.ends_with("/test/ox`: expected images of the class, found none"), "{text}");
        }
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
        let data = open(folder.path(), &[]).expect("data");
        let error = data.image(&data.samples(Subset::Test)[1]).expect_err("no image");
        assert!(matches!(error, DataError::Image { path, .. } if path == folder.path().join("test/dog/8.png")));

        let (_folder, path) = zipped(&["train/cat/1.png", "test/cat/1.png"]);
        let mut bytes = fs::read(&path).expect("bytes");
        let at = bytes.len() - 5;
        bytes[at] ^= 0xff;
        fs::write(&path, bytes).expect("a damaged archive");
        assert!(matches!(open(&path, &[]), Err(DataError::Malformed { .. })));
    }

    #[test]
    fn the_real_animals_are_read() {
        let Some(folder) = real_data("animals12") else { return };
        let data = open(&folder.join("images.zip"), &[folder.join("attributes.csv")]).expect("animals12");
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
}
