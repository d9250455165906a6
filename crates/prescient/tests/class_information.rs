//! Class information from anywhere: the real files of AwA2, aP&Y and xlsa17 name the same classes and agree.
#![allow(clippy::unwrap_used)]

mod common;

use common::real_data;
use prescient::catalogue::{AttributeSource, Catalogue, Scale, joined, read};
use prescient::error::DataError;

fn source(path: impl Into<std::path::PathBuf>) -> AttributeSource {
    AttributeSource::new(path)
}

fn row<'a>(catalogue: &'a Catalogue, class: &str) -> &'a [f32] {
    catalogue.attributes(catalogue.find(class).unwrap_or_else(|| panic!("no {class} in {:?}", catalogue.names())))
}

/// xlsa17's `original_att` is AwA2's continuous matrix, its `att` the same with rows of length 1. But four colours of the
/// antelope, 0 in AwA2's file, are −1 there (errata 30).
#[test]
fn xlsa17_agrees_with_awa2() {
    let Some(folder) = real_data("awa2") else { return };
    let own = read(&source(folder.join("predicate-matrix-continuous.txt"))).unwrap();
    let whole = read(&source(&folder)).unwrap();
    assert!(whole.rows().eq(own.rows()), "a folder is its continuous matrix");
    assert_eq!(whole.attribute_names(), own.attribute_names());
    let original =
        AttributeSource { variable: Some("original_att".to_owned()), ..source(folder.join("att_splits.mat")) };
    let original = read(&original).unwrap();
    let unit = read(&source(folder.join("att_splits.mat"))).unwrap();
    let scaled = Scale::UnitL2.scaled(&original);
    assert_eq!((original.len(), original.attribute_names().len()), (50, 85));
    for class in own.names() {
        let unknown = if class == "antelope" { 4 } else { 0 };
        assert_eq!(row(&original, class)[unknown..], row(&own, class)[unknown..], "{class}");
        assert!(row(&original, class)[..unknown].iter().all(|&value| value == -1.0));
        for (theirs, ours) in row(&unit, class).iter().zip(row(&scaled, class)) {
            assert!((theirs - ours).abs() < 1e-6, "{class}: {theirs} {ours}");
        }
    }
    let binary = read(&source(folder.join("predicate-matrix-binary.txt"))).unwrap();
    assert!(row(&binary, "zebra").iter().all(|value| [0.0, 1.0].contains(value)));
}

#[test]
fn xlsa17_and_the_annotations_name_the_same_classes_of_apy() {
    let Some(folder) = real_data("apy") else { return };
    let own = read(&source(&folder)).unwrap();
    let theirs = read(&source(folder.join("att_splits.mat"))).unwrap();
    assert_eq!((own.len(), own.attribute_names().len()), (32, 64));
    assert_eq!((theirs.len(), theirs.attribute_names().len()), (32, 64));
    let sorted = |catalogue: &Catalogue| {
        let mut names = catalogue.names().to_vec();
        names.sort();
        names
    };
    assert_eq!(sorted(&own), sorted(&theirs));
}

#[test]
fn sources_of_different_kinds_join_by_name() {
    let Some(folder) = real_data("awa2") else { return };
    let both = [source(folder.join("predicate-matrix-binary.txt")), source(folder.join("att_splits.mat"))];
    let catalogue = joined(&both, Scale::None).unwrap().unwrap();
    assert_eq!(catalogue.attribute_names().len(), 170);
    let (first, second) = (read(&both[0]).unwrap(), read(&both[1]).unwrap());
    for class in ["antelope", "walrus"] {
        assert_eq!(row(&catalogue, class), [row(&first, class), row(&second, class)].concat());
    }
    let scaled = joined(&both, Scale::UnitL2).unwrap().unwrap();
    let squares: f32 = row(&scaled, "walrus").iter().map(|value| value * value).sum();
    assert!((squares - 2.0).abs() < 1e-5, "each source has length 1 on its own: {squares}");
}

#[test]
fn sources_that_name_other_classes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    std::fs::write(&a, "class,x\ncat,1\ndog,2\n").unwrap();
    std::fs::write(&b, "class,y\ncat,1\ncow,2\n").unwrap();
    let error = joined(&[source(&a), source(&b)], Scale::None).unwrap_err().to_string();
    assert!(error.contains("b.csv`: expected the classes of `") && error.contains("a.csv`, found no `dog`"), "{error}");
    assert!(error.ends_with("and `cow` beyond them"), "{error}");
    assert_eq!(joined(&[], Scale::None).unwrap(), None);
}

#[test]
fn what_is_no_class_information_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let says = |name: &str| read(&source(folder.path().join(name))).unwrap_err().to_string();
    ["a.xlsx", "a.docx"].iter().for_each(|name| std::fs::write(folder.path().join(name), "PK").unwrap());
    assert!(says("a.xlsx").ends_with("expected UTF-8 text, found a workbook of a spreadsheet program"));
    assert!(says("a.docx").ends_with("expected class information, found a file of another kind"));
    assert!(says("").contains("expected class information, found a folder with neither"));
    assert!(matches!(read(&source(folder.path().join("none.csv"))), Err(DataError::Io { .. })));
    assert!(matches!(read(&source(folder.path().join("none.xlsx"))), Err(DataError::Io { .. })));
}
