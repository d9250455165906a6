use crate::data::datasets::features::*;
use crate::data::fingerprint;
use crate::data::formats::mat::tests::{doubles, file, names};
use safetensors::tensor::{Dtype, TensorView};
use std::collections::HashMap;
use std::fs;
use tempfile::TempDir;

/// A matrix of f32 as NumPy writes it.
pub(crate) fn npy(rows: &[&[f32]]) -> Vec<u8> {
    let data: Vec<u8> = rows.concat().iter().flat_map(|value| value.to_le_bytes()).collect();
    framed("<f4", "False", &format!("({}, {})", rows.len(), rows[0].len()), &data)
}

fn framed(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

/// Files in a folder.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    files.iter().for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes).expect("a file"));
    folder
}

fn open(path: &Path) -> Result<Features, DataError> {
    Features::open(path, &FeaturesSettings::new(path))
}

/// What is said of a folder, without its name.
fn says(files: &[(&str, &[u8])]) -> String {
    let folder = folder(files);
    let error = open(folder.path()).err().expect("a fault");
    assert!(error.hint().is_some(), "{error}");
    error
        .to_string()
        .replace(&format!("{}/", folder.path().display()), "")
        .replace(&folder.path().display().to_string(), "ROOT")
}

fn numbers(features: &Features, subset: Subset, row: usize) -> Vec<f32> {
    let image = features.image(&features.samples(subset)[row]).expect("in memory");
    assert_eq!((image.width, image.height, image.channels), (features.size(), 1, Channels::Features));
    image.pixels.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn classes(features: &Features, subset: Subset) -> Vec<&str> {
    features.samples(subset).iter().map(|sample| features.catalogue().name(sample.class)).collect()
}

const TRAIN: &[&[f32]] = &[&[1.0, 2.0], &[3.0, 4.0], &[5.0, 6.0]];
const TEST: &[&[f32]] = &[&[0.5, 0.0], &[0.0, 0.25]];

fn good() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("train.npy", npy(TRAIN)),
        ("train.txt", b"dog\ncat\ndog\n".to_vec()),
        ("test.npy", npy(TEST)),
        ("test.txt", b"cat\ndog".to_vec()),
    ]
}

/// The good folder with one file in another's place, or beside the others.
fn with(name: &'static str, bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut files = good();
    files.retain(|(other, _)| *other != name);
    files.push((name, bytes.to_vec()));
    files
}

fn borrowed<'a>(files: &'a [(&'static str, Vec<u8>)]) -> Vec<(&'static str, &'a [u8])> {
    files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect()
}

#[track_caller]
fn assert_says(files: &[(&'static str, Vec<u8>)], expected: &str) {
    assert_eq!(says(&borrowed(files)), expected);
}

#[test]
fn rows_are_read_with_the_names_of_their_classes() {
    let folder = folder(&borrowed(&good()));
    let features = open(folder.path()).expect("features");
    assert_eq!(features.catalogue().names(), ["cat", "dog"]);
    assert_eq!(classes(&features, Subset::Train), ["dog", "cat", "dog"]);
    assert_eq!(classes(&features, Subset::Test), ["cat", "dog"]);
    assert_eq!(numbers(&features, Subset::Train, 1), [3.0, 4.0]);
    assert_eq!(numbers(&features, Subset::Test, 1), [0.0, 0.25]);
    assert_eq!(features.name(&features.samples(Subset::Train)[2]), "train[2]");
}

#[test]
fn labels_may_be_numbers_with_a_list_of_names() {
    let labels = |values: &[i64]| {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        framed("<i8", "False", &format!("({},)", values.len()), &data)
    };
    let files = [
        ("train.npy", npy(TRAIN)),
        ("train-labels.npy", labels(&[1, 0, 1])),
        ("test.npy", npy(TEST)),
        ("test-labels.npy", labels(&[0, 1])),
        ("classes.txt", b"zebra\nant\n".to_vec()),
    ];
    let folder = folder(&borrowed(&files));
    let features = open(folder.path()).expect("features");
    assert_eq!(features.catalogue().names(), ["zebra", "ant"], "in the order of the list");
    assert_eq!(classes(&features, Subset::Train), ["ant", "zebra", "ant"]);

    let mut beyond = files.to_vec();
    beyond[1].1 = labels(&[1, 0, 2]);
    assert_says(&beyond, "`train-labels.npy`: expected labels from 0 to 1, found 2 in row 2");
    beyond[1].1 = labels(&[1, -1, 0]);
    assert_says(&beyond, "`train-labels.npy`: expected labels from 0 to 1, found -1 in row 1");
    beyond[4].1 = b"ant\nant\n".to_vec();
    assert_says(&beyond, "`classes.txt`: expected 1 to 1,000,000 classes, each once, found `ant` a second time");
}

/// Column by column 1 3 5 | 2 4 6, the highest byte first, in eight bytes: the same matrix. And in two bytes.
#[test]
fn fortrans_order_big_ends_doubles_and_halves_are_the_same_numbers() {
    let doubles: Vec<u8> = [1.0f64, 3.0, 5.0, 2.0, 4.0, 6.0].iter().flat_map(|value| value.to_be_bytes()).collect();
    let halves: Vec<u8> =
        [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|value| half::f16::from_f32(*value).to_le_bytes()).collect();
    let plain = folder(&borrowed(&good()));
    let plain = fingerprint(&open(plain.path()).expect("features"));
    for bytes in [framed(">f8", "True", "(3, 2)", &doubles), framed("<f2", "False", "(3, 2)", &halves)] {
        let folder = folder(&borrowed(&with("train.npy", &bytes)));
        assert_eq!(fingerprint(&open(folder.path()).expect("features")), plain);
    }
    let other = folder(&borrowed(&with("train.npy", &npy(&[&[1.0, 2.0], &[3.0, 4.0], &[5.0, 6.5]]))));
    assert_ne!(fingerprint(&open(other.path()).expect("features")), plain, "other numbers are other data");
}

#[test]
fn attributes_give_the_order_and_must_name_the_same_classes() {
    let mut files = with("a.csv", b"class,legs\ndog,4\ncat,3\n");
    files.push(("b.csv", b"class,legs\ndog,4\nwhale,0\n".to_vec()));
    let folder = folder(&borrowed(&files));
    let read = |name: &str| {
        let attributes = vec![AttributeSource::new(folder.path().join(name))];
        Features::open(folder.path(), &FeaturesSettings { attributes, ..FeaturesSettings::new(folder.path()) })
    };
    let features = read("a.csv").expect("features");
    assert_eq!(features.catalogue().names(), ["dog", "cat"]);
    assert_eq!(classes(&features, Subset::Train), ["dog", "cat", "dog"]);
    assert!(matches!(read("b.csv"), Err(DataError::Classes { .. })));
}

#[test]
fn what_does_not_fit_is_told() {
    assert_says(
        &[],
        "`ROOT`: expected a folder with `train.npy` or `res101.mat`, or a `.safetensors`, found a folder with neither",
    );
    let mut no_test = good();
    no_test.retain(|(name, _)| *name != "test.npy");
    assert!(says(&borrowed(&no_test)).starts_with("`test.npy`: No such file"), "{}", says(&borrowed(&no_test)));
    let mut no_classes = good();
    no_classes.retain(|(name, _)| *name != "test.txt");
    assert_says(
        &no_classes,
        "`test.npy`: expected `test.txt` beside it, or `test-labels.npy` and `classes.txt`, found neither",
    );
    assert_says(&with("train.txt", b"dog\ncat\n"), "`train.npy`: expected a class for each of 3 rows, found 2 classes");
    assert_says(&with("train.txt", b"dog\n\ncat\n"), "`train.txt`, line 2: expected a name, found an empty line");
    assert_says(&with("train.txt", b"dog\ndog\ndog\n"), "`train.npy`: expected rows of the class `cat`, found none");
    assert_says(&with("test.txt", b"cat\nemu\n"), "`train.npy`: expected rows of the class `emu`, found none");
    assert_says(
        &with("classes.txt", b"cat\ncow\n"),
        "`train.txt`, line 1: expected a class of `classes.txt`, found `dog`",
    );
    assert_says(
        &with("test.npy", &npy(&[&[1.0], &[2.0]])),
        "`test.npy`: expected rows of 2 numbers, as in `train.npy`, found rows of 1",
    );
    assert_says(
        &with("train.npy", &npy(&[&[1.0, 2.0], &[3.0, f32::NAN], &[f32::INFINITY, 6.0]])),
        "`train.npy`: expected finite numbers, found NaN in row 1, column 1, counted from 0",
    );
    assert_says(&with("train.npy", &npy(TRAIN)[..70]), "`train.npy`: expected 3 × 2 numbers, 24 bytes, found 1");
    assert_says(
        &with("train.npy", &framed("|u1", "False", "(3, 1, 1)", &[1, 2, 3])),
        "`train.npy`: expected one or two dimensions, found 3",
    );
}

#[test]
fn all_faults_of_rows_are_there_for_a_check() {
    let files = with("train.npy", &npy(&[&[f32::NAN, 2.0], &[3.0, 4.0], &[f32::INFINITY, 6.0]]));
    let folder = folder(&borrowed(&files));
    let (_, faults) = Features::survey(folder.path(), &FeaturesSettings::new(folder.path())).expect("readable");
    let found: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].ends_with("found inf in row 2, column 0, counted from 0"), "{found:?}");
}

/// A `.safetensors` with these tensors; `classes` in its metadata.
fn tensors(tensors: &[(&str, Dtype, Vec<usize>, Vec<u8>)], classes: Option<&str>) -> Vec<u8> {
    let views: Vec<(&str, TensorView<'_>)> = tensors
        .iter()
        .map(|(name, dtype, shape, data)| (*name, TensorView::new(*dtype, shape.clone(), data).expect("a tensor")))
        .collect();
    let metadata = classes.map(|classes| HashMap::from([("classes".to_owned(), classes.to_owned())]));
    safetensors::serialize(views, metadata).expect("tensors")
}

fn of_f32(values: &[&[f32]]) -> Vec<u8> {
    values.concat().iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn a_safetensors_holds_both_sides() {
    let labels = |values: &[i64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let halves: Vec<u8> = TEST.concat().iter().flat_map(|value| half::f16::from_f32(*value).to_le_bytes()).collect();
    let all = [
        ("train.features", Dtype::F32, vec![3, 2], of_f32(TRAIN)),
        ("train.labels", Dtype::I64, vec![3], labels(&[1, 0, 1])),
        ("test.features", Dtype::F16, vec![2, 2], halves),
        ("test.labels", Dtype::U8, vec![2], vec![0, 1]),
    ];
    let folder = folder(&[
        ("a.safetensors", &tensors(&all, Some("cat\ndog"))),
        ("b.safetensors", &tensors(&all[..3], Some("cat\ndog"))),
        ("c.safetensors", &tensors(&all, None)),
        ("d.safetensors", &tensors(&all, Some("cat\ndog"))[..90]),
        ("e.safetensors", &tensors(&all, Some("cat"))),
    ]);
    let features = open(&folder.path().join("a.safetensors")).expect("features");
    assert_eq!(classes(&features, Subset::Train), ["dog", "cat", "dog"]);
    assert_eq!(numbers(&features, Subset::Test, 0), [0.5, 0.0]);
    let says = |name: &str| open(&folder.path().join(name)).err().expect("a fault").to_string();
    assert!(
        says("b.safetensors").contains("expected a tensor `test.labels`, found `test.features`, `train.features`"),
        "{}",
        says("b.safetensors")
    );
    assert!(says("c.safetensors").contains("classes.txt"), "{}", says("c.safetensors"));
    assert!(says("d.safetensors").contains("expected a .safetensors file"), "{}", says("d.safetensors"));
    assert!(
        says("e.safetensors").contains("expected labels from 0 to 0, found 1 in row 0"),
        "{}",
        says("e.safetensors")
    );
    fs::write(folder.path().join("classes.txt"), "cat\ndog\n").expect("a file");
    assert_eq!(open(&folder.path().join("c.safetensors")).expect("features").catalogue().names(), ["cat", "dog"]);
}

/// Three classes of xlsa17: `ant` and `cow` are seen, with a published split; of the five rows of `bee`, which is not, four
/// are learned from. Row r has the features (r, −r).
fn xlsa17() -> TempDir {
    let labels = [1.0, 1.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0];
    let values: Vec<f64> = (0..9).flat_map(|row| [f64::from(row), -f64::from(row)]).collect();
    let photos: Vec<String> = (0..9).map(|row| format!("/home/x//JPEGImages/some/photo_{row}.jpg")).collect();
    let photos: Vec<&str> = photos.iter().map(String::as_str).collect();
    let res101 = file(&[
        doubles("features", [2, 9], &values),
        doubles("labels", [9, 1], &labels),
        names("image_files", &photos),
    ]);
    let splits = file(&[
        names("allclasses_names", &["ant", "bee", "cow"]),
        doubles("trainval_loc", [2, 1], &[1.0, 4.0]),
        doubles("test_seen_loc", [2, 1], &[2.0, 3.0]),
        doubles("test_unseen_loc", [5, 1], &[5.0, 6.0, 7.0, 8.0, 9.0]),
        doubles("att", [2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ]);
    folder(&[("res101.mat", &res101), ("att_splits.mat", &splits)])
}

#[test]
fn xlsa17s_split_is_kept_and_its_unseen_classes_are_dealt_out() {
    let folder = xlsa17();
    let features = open(folder.path()).expect("features");
    assert_eq!(features.catalogue().names(), ["ant", "bee", "cow"]);
    assert_eq!(features.catalogue().attributes(ClassId(1)), [0.6, 0.8], "its own attributes, (3, 4), to length 1");
    let count = |subset, name: &str| classes(&features, subset).iter().filter(|class| **class == name).count();
    assert_eq!(["ant", "cow", "bee"].map(|name| count(Subset::Train, name)), [1, 1, 4]);
    assert_eq!(["ant", "cow", "bee"].map(|name| count(Subset::Test, name)), [1, 1, 1]);
    // trainval_loc 1 and 4: rows 0 and 3.
    assert_eq!(numbers(&features, Subset::Train, 0), [0.0, 0.0]);
    assert_eq!(features.name(&features.samples(Subset::Train)[1]), "some/photo_3.jpg");
    assert_eq!(numbers(&features, Subset::Train, 1), [3.0, -3.0]);
    let name = |subset| features.samples(subset).iter().map(|sample| features.name(sample)).collect::<Vec<_>>();
    let mut all = [name(Subset::Train), name(Subset::Test)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 9, "every row once");
    assert_eq!(features.order(&Order::Proposed), Some(vec![ClassId(0), ClassId(2), ClassId(1)]));
    let again = open(folder.path()).expect("features");
    assert_eq!(fingerprint(&features), fingerprint(&again));
}

#[test]
fn faults_of_xlsa17s_files_are_told() {
    let folder = xlsa17();
    let says = || {
        let text = open(folder.path()).err().expect("a fault").to_string();
        text.replace(&format!("{}/", folder.path().display()), "")
    };
    let whole = fs::read(folder.path().join("att_splits.mat")).expect("a file");
    let lists = |seen: &[f64]| {
        file(&[
            names("allclasses_names", &["ant", "bee", "cow"]),
            doubles("trainval_loc", [2, 1], &[1.0, 4.0]),
            doubles("test_seen_loc", [seen.len() as u32, 1], seen),
            doubles("test_unseen_loc", [5, 1], &[5.0, 6.0, 7.0, 8.0, 9.0]),
        ])
    };
    for (seen, expected) in [
        (&[2.0, 10.0][..], "`att_splits.mat`: expected places from 1 to 9 in `test_seen_loc`, found 10"),
        (&[2.0, 4.0], "`att_splits.mat`: expected every row in one of the three lists at most, found row 4 twice"),
    ] {
        fs::write(folder.path().join("att_splits.mat"), lists(seen)).expect("a file");
        assert_eq!(says(), expected);
    }
    fs::write(folder.path().join("att_splits.mat"), file(&[])).expect("a file");
    assert_eq!(says(), "`att_splits.mat`: expected a variable `allclasses_names`, found none");
    fs::write(folder.path().join("att_splits.mat"), &whole).expect("a file");
    fs::write(folder.path().join("res101.mat"), file(&[doubles("labels", [2, 1], &[1.0, 2.0])])).expect("a file");
    assert!(says().starts_with("`att_splits.mat`") || says().contains("a variable `features`"), "{}", says());
    fs::remove_file(folder.path().join("att_splits.mat")).expect("our file");
    assert!(says().starts_with("`att_splits.mat`: No such file"), "{}", says());
}

/// As a damaged `.mat` may declare them.
#[test]
fn rows_of_no_numbers_are_refused() {
    let (names, values) = (super::table::Names::Side("train"), super::table::Values::InMemory(Vec::new()));
    let classes = vec!["ant".to_owned(); 2];
    let table = super::table::Table::new(Path::new("res101.mat"), names, [2, 0], values, classes);
    let error = table.err().expect("no table").to_string();
    assert!(error.ends_with("expected rows of numbers, found 2 rows of 0"), "{error}");
}
