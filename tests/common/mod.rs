//! What integration tests share.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, missing_docs)]

use prescient::data::{Image, Source, SyntheticSettings};
use prescient::experiment::Recipe;
use std::path::{Path, PathBuf};

/// Real data beyond the repository: below `PRESCIENT_DATA`, else `../shared/data`. Says so where it is not there.
pub fn real_data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PRESCIENT_DATA")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"));
    let path = root.join(name);
    if path.exists() {
        Some(path)
    } else {
        eprintln!("left out: `{name}` is not below `{}`; set PRESCIENT_DATA to run this test", root.display());
        None
    }
}

/// A small run on drawn images: three tasks, seconds on two cores.
pub fn small_recipe() -> Recipe {
    let text = r#"
        seed = 1
        [scenario]
        split = "12+6+6"
        [model]
        backbone = { kind = "small-cnn", features = 32, width = 8, norm = true }
        [train]
        epochs = 2
        batch = 32
        [finetune]
        epochs = 3
        [memory]
        per_class = 5
    "#;
    let mut recipe = Recipe::parse(text, Path::new("small.toml")).unwrap();
    recipe.data = Source::Synthetic(SyntheticSettings { train: 20, test: 8, ..Default::default() });
    recipe
}

/// An image of one colour with a little noise, of the given size.
pub fn patch(width: u32, height: u32, color: [u8; 3]) -> Image {
    let pixels = (0..width * height)
        .flat_map(|p| color.map(|c| c.wrapping_add((p.wrapping_mul(2_654_435_761) >> 28) as u8)))
        .collect();
    Image { width, height, channels: 3, pixels }
}

/// `train/CLASS/N.png` and `test/CLASS/N.png` for a few classes, and the table of their attributes.
pub fn photo_folder(at: &Path, classes: &[&str]) -> PathBuf {
    for (index, class) in classes.iter().enumerate() {
        for (side, count) in [("train", 4), ("test", 2)] {
            let folder = at.join(side).join(class);
            std::fs::create_dir_all(&folder).unwrap();
            for image in 0..count {
                let color = [40 * index as u8, 200 - 30 * index as u8, 20 * image];
                patch(20, 16, color).write_png(&folder.join(format!("{image}.png"))).unwrap();
            }
        }
    }
    let rows: String = classes.iter().enumerate().map(|(i, class)| format!("{class},{i},1\n")).collect();
    let table = at.join("attributes.csv");
    std::fs::write(&table, format!("class,number,one\n{rows}")).unwrap();
    table
}
