//! The four files: whole, damaged, and the real ones.

use super::*;
use crate::required::real_data;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;

const TRAIN_IMAGES: &str = "train-images-idx3-ubyte";
const TRAIN_LABELS: &str = "train-labels-idx1-ubyte";

fn idx(magic: u32, dimensions: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_be_bytes().to_vec();
    bytes.extend(dimensions.iter().flat_map(|number| number.to_be_bytes()));
    bytes.extend(values);
    bytes
}

/// Image i is all i.
fn images(count: u8) -> Vec<u8> {
    let values: Vec<u8> = (0..count).flat_map(|index| [index; BYTES]).collect();
    idx(2051, &[u32::from(count), 28, 28], &values)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("to memory");
    encoder.finish().expect("to memory")
}

/// Three training images of 7, 0 and 9, plain; two test images of 1 and 2, packed.
fn tiny() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder, TRAIN_IMAGES, &images(3));
    write(&folder, TRAIN_LABELS, &idx(2049, &[3], &[7, 0, 9]));
    write(&folder, "t10k-images-idx3-ubyte.gz", &gzip(&images(2)));
    write(&folder, "t10k-labels-idx1-ubyte.gz", &gzip(&idx(2049, &[2], &[1, 2])));
    folder
}

fn write(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) {
    fs::write(folder.path().join(name), bytes).expect("a file");
}

/// What is said when the file `name` holds `bytes` instead, without the folder's name.
fn says(name: &str, bytes: &[u8]) -> String {
    let folder = tiny();
    write(&folder, name, bytes);
    let error = Mnist::open(folder.path()).err().expect("a fault");
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn plain_and_packed_files_read_alike() {
    let folder = tiny();
    let data = Mnist::open(folder.path()).expect("data");
    let classes = |subset| data.samples(subset).iter().map(|sample| sample.class.0).collect::<Vec<_>>();
    assert_eq!(classes(Subset::Train), [7, 0, 9]);
    assert_eq!(classes(Subset::Test), [1, 2]);
    let last = data.samples(Subset::Test)[1];
    assert_eq!(data.image(&last).expect("an image").pixels[..], [1; BYTES]);
    assert_eq!(data.name(&last), "test/00001");
    assert_eq!(data.catalogue().name(ClassId(9)), "9");
}

#[test]
fn a_missing_file_is_named_as_it_is_published() {
    let folder = tiny();
    fs::remove_file(folder.path().join(TRAIN_LABELS)).expect("it was there");
    match Mnist::open(folder.path()).err() {
        Some(DataError::Io { path, source }) => {
            assert_eq!(path, folder.path().join("train-labels-idx1-ubyte.gz"));
            assert_eq!(source.kind(), io::ErrorKind::NotFound);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cut_file_is_told() {
    let whole = images(3);
    let text = says(TRAIN_IMAGES, &whole[..whole.len() - 5]);
    assert_eq!(text, "`train-images-idx3-ubyte`: expected 3 × 28 × 28 pixels, 2352 bytes, found 2347");
    let text = says(TRAIN_IMAGES, &whole[..7]);
    assert_eq!(text, "`train-images-idx3-ubyte`: expected a header of 16 bytes, found 7");
    let text = says(TRAIN_LABELS, &idx(2049, &[3], &[7]));
    assert_eq!(text, "`train-labels-idx1-ubyte`: expected 3 labels, 3 bytes, found 1");
}

#[test]
fn trailing_bytes_are_told() {
    let text = says(TRAIN_LABELS, &idx(2049, &[3], &[7, 0, 9, 1]));
    assert_eq!(text, "`train-labels-idx1-ubyte`: expected 3 labels, 3 bytes, found 4");
}

/// A count of 2³² − 1 images of 2³² − 1 squared does not overflow.
#[test]
fn absurd_dimensions_are_told() {
    let text = says(TRAIN_IMAGES, &idx(2051, &[u32::MAX; 3], &[]));
    assert!(text.ends_with("bytes, found 0"), "{text}");
}

#[test]
fn another_kind_of_file_is_told() {
    let text = says(TRAIN_IMAGES, &idx(2049, &[3, 28, 28], &[0; 3 * BYTES]));
    assert_eq!(text, "`train-images-idx3-ubyte`: expected the magic number 2051, found 2049");
    let text = says(TRAIN_IMAGES, &idx(2051, &[3, 2, 4], &[0; 24]));
    assert_eq!(text, "`train-images-idx3-ubyte`: expected images of 28 × 28 pixels, found 2 × 4");
}

#[test]
fn a_wrong_label_is_told() {
    let text = says(TRAIN_LABELS, &idx(2049, &[3], &[7, 10, 9]));
    assert_eq!(text, "`train-labels-idx1-ubyte`: expected labels from 0 to 9, found 10 as label 1");
}

#[test]
fn more_images_than_labels_are_told() {
    let text = says(TRAIN_LABELS, &idx(2049, &[2], &[7, 0]));
    assert_eq!(text, "`train-labels-idx1-ubyte`: expected a label for each of 3 images, found 2 labels");
}

#[test]
fn a_damaged_gzip_is_told() {
    let name = "t10k-images-idx3-ubyte.gz";
    let whole = gzip(&images(2));
    let cases = [b"not gzip at all".to_vec(), whole[..whole.len() - 9].to_vec(), [&whole[..], b"more"].concat()];
    for bytes in cases {
        let text = says(name, &bytes);
        let expected = "`t10k-images-idx3-ubyte.gz`: expected a whole gzip file, found one that does not unpack: ";
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn the_real_files_are_read() {
    let Some(folder) = real_data("mnist") else { return };
    let data = Mnist::open(&folder).expect("MNIST");
    assert_eq!(data.samples(Subset::Train).len(), 60_000);
    assert_eq!(data.samples(Subset::Test).len(), 10_000);
    // The first training image is the well-known five.
    let first = data.samples(Subset::Train)[0];
    assert_eq!(first.class, ClassId(5));
    assert_eq!(data.name(&first), "train/00000");
    let sum: f64 = data.train.pixels.iter().map(|&pixel| f64::from(pixel)).sum();
    assert!((sum / data.train.pixels.len() as f64 / 255.0 - 0.1307).abs() < 1e-4);
}
