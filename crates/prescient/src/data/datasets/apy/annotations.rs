//! aP&Y's annotation files: a line an object, with its photo, its class, its box and 64 flags.
//!
//! ```text
//! 2008_000008.jpg horse 54 87 471 419 0 0 0 0 0 1 1 …
//! ```

use crate::catalogue::Catalogue;
use crate::data::Image;
use crate::data::formats::files::Files;
use crate::error::DataError;

/// The three files, where their photos lie in the official archives, and how many objects each has.
pub(crate) const SOURCES: [(&str, &[&str], usize); 3] = [
    ("apascal_train.txt", PASCAL, 6_340),
    ("apascal_test.txt", PASCAL, 6_355),
    ("ayahoo_test.txt", &["ayahoo_test_images/"], 2_644),
];
const PASCAL: &[&str] = &["VOCdevkit/VOC2008/JPEGImages/", "VOC2008/JPEGImages/", "JPEGImages/"];

/// Where an object is in its photo, in pixels counted from 1, both ends included: Pascal's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bounds {
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) right: u32,
    pub(crate) bottom: u32,
}

/// One object in a photo.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Object {
    /// With its folder.
    pub(crate) photo: String,
    /// As an index into the names of the classes.
    pub(crate) class: usize,
    pub(crate) bounds: Bounds,
    /// Whether it has each attribute.
    pub(crate) flags: Vec<bool>,
}

/// All that is annotated.
pub(crate) struct Annotations {
    pub(crate) classes: Vec<String>,
    pub(crate) attributes: Vec<String>,
    /// File by file, line by line.
    pub(crate) objects: Vec<Object>,
    /// How many of them each of [`SOURCES`] has.
    pub(crate) counts: [usize; 3],
}

impl Annotations {
    /// Reads the five files, beside the photos or in the folder `attribute_data`.
    pub(crate) fn read(files: &Files) -> Result<Self, DataError> {
        let within = if files.has("attribute_data/") { "attribute_data/" } else { "" };
        let classes = names(files, &format!("{within}class_names.txt"))?;
        let attributes = names(files, &format!("{within}attribute_names.txt"))?;
        let mut objects = Vec::new();
        let mut counts = [0; 3];
        for ((source, folders, _), count) in SOURCES.iter().zip(&mut counts) {
            let name = format!("{within}{source}");
            let folder = folders.iter().find(|folder| files.has(folder)).unwrap_or(&folders[0]);
            for (line, text) in files.text(&name)?.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
                let wrong = |(expected, found)| malformed(files, &name, Some(line + 1), expected, found);
                objects.push(object(text, folder, &classes, &attributes).map_err(wrong)?);
                *count += 1;
            }
        }
        Ok(Self { classes, attributes, objects, counts })
    }

    /// The share of the objects of each class that have each attribute; of `objects` alone.
    pub(crate) fn averages<'a>(&self, objects: impl Iterator<Item = &'a Object>) -> Catalogue {
        let mut sums = vec![vec![0u32; self.attributes.len()]; self.classes.len()];
        let mut counts = vec![0u32; self.classes.len()];
        for object in objects {
            counts[object.class] += 1;
            for (sum, &flag) in sums[object.class].iter_mut().zip(&object.flags) {
                *sum += u32::from(flag);
            }
        }
        let row = |(sums, count): (Vec<u32>, u32)| {
            sums.iter().map(|&sum| (f64::from(sum) / f64::from(count.max(1))) as f32).collect()
        };
        let rows = sums.into_iter().zip(counts).map(row).collect();
        Catalogue::new(self.classes.clone(), self.attributes.clone(), rows)
    }
}

/// One line, or what was expected and what was found.
fn object(text: &str, folder: &str, classes: &[String], attributes: &[String]) -> Result<Object, (String, String)> {
    let parts: Vec<&str> = text.split_whitespace().collect();
    let [photo, class, left, top, right, bottom, flags @ ..] = &parts[..] else {
        return Err(("a photo, a class, a box and attributes".to_owned(), format!("{} words", parts.len())));
    };
    let class = classes.iter().position(|name| name == class);
    let class = class.ok_or_else(|| ("a class of `class_names.txt`".to_owned(), format!("`{}`", parts[1])))?;
    let number = |text: &str| text.parse().map_err(|_| ("a box in pixels".to_owned(), format!("`{text}`")));
    let bounds = Bounds { left: number(left)?, top: number(top)?, right: number(right)?, bottom: number(bottom)? };
    if bounds.left == 0 || bounds.top == 0 || bounds.right < bounds.left || bounds.bottom < bounds.top {
        let found = parts[2..6].join(" ");
        return Err(("a box: left, top, right, bottom, counted from 1".to_owned(), format!("`{found}`")));
    }
    if flags.len() != attributes.len() {
        return Err((format!("{} attributes", attributes.len()), flags.len().to_string()));
    }
    let flag = |text: &&str| match *text {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(("0 or 1 for each attribute".to_owned(), format!("`{other}`"))),
    };
    let flags = flags.iter().map(flag).collect::<Result<_, _>>()?;
    Ok(Object { photo: format!("{folder}{photo}"), class, bounds, flags })
}

impl Bounds {
    /// The object cut out of its photo. A box that reaches beyond the photo is cut at its edge; one that lies outside is
    /// none.
    pub(crate) fn cut(self, photo: &Image) -> Option<Image> {
        let (right, bottom) = (self.right.min(photo.width), self.bottom.min(photo.height));
        let (width, height) = ((right + 1).checked_sub(self.left)?, (bottom + 1).checked_sub(self.top)?);
        (width > 0 && height > 0).then(|| photo.cut(self.left - 1, self.top - 1, width, height))
    }
}

fn names(files: &Files, name: &str) -> Result<Vec<String>, DataError> {
    let text = files.text(name)?;
    let mut names: Vec<String> = Vec::new();
    for (line, entry) in text.lines().map(str::trim).enumerate().filter(|(_, entry)| !entry.is_empty()) {
        if names.iter().any(|before| before == entry) {
            let found = format!("`{entry}` a second time");
            return Err(malformed(files, name, Some(line + 1), "every name once".to_owned(), found));
        }
        names.push(entry.to_owned());
    }
    if names.is_empty() || names.len() > crate::class::MOST {
        return Err(malformed(files, name, None, "a name a line".to_owned(), names.len().to_string()));
    }
    Ok(names)
}

fn malformed(files: &Files, name: &str, line: Option<usize>, expected: String, found: String) -> DataError {
    let folder = files.path("");
    let hint = format!(
        "the file may be cut short; `prescient data check apy {}` verifies each one",
        folder.display().to_string().trim_end_matches('/')
    );
    DataError::Malformed { path: files.path(name), line, expected, found, hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::ClassId;
    use crate::data::Channels;

    fn read(text: &str) -> Result<Object, (String, String)> {
        let names = |names: [&str; 2]| names.map(String::from);
        object(text, "photos/", &names(["cat", "dog"]), &names(["Tail", "Wing"]))
    }

    #[test]
    fn a_line_is_an_object() {
        let object = read("1.jpg dog 2 3 4 5 0 1").expect("an object");
        assert_eq!((object.photo.as_str(), object.class), ("photos/1.jpg", 1));
        assert_eq!(object.bounds, Bounds { left: 2, top: 3, right: 4, bottom: 5 });
        assert_eq!(object.flags, [false, true]);
    }

    #[test]
    fn faults_are_told() {
        let says = |text| {
            let (expected, found) = read(text).expect_err(text);
            format!("expected {expected}, found {found}")
        };
        assert_eq!(says("1.jpg cat 2 3"), "expected a photo, a class, a box and attributes, found 4 words");
        assert_eq!(says("1.jpg cow 2 3 4 5 0 1"), "expected a class of `class_names.txt`, found `cow`");
        assert_eq!(says("1.jpg cat 2 3 x 5 0 1"), "expected a box in pixels, found `x`");
        assert!(says("1.jpg cat 0 3 4 5 0 1").ends_with("found `0 3 4 5`"));
        assert!(says("1.jpg cat 5 3 4 5 0 1").ends_with("found `5 3 4 5`"));
        assert_eq!(says("1.jpg cat 2 3 4 5 0"), "expected 2 attributes, found 1");
        assert_eq!(says("1.jpg cat 2 3 4 5 0 2"), "expected 0 or 1 for each attribute, found `2`");
    }

    /// Pixels 2 and 3 of each row, rows 1 and 2, counted from 1.
    #[test]
    fn a_box_has_both_its_ends() {
        let photo = Image { width: 4, height: 3, channels: Channels::Grey, pixels: (0..12).collect() };
        let cut = |left, top, right, bottom| Bounds { left, top, right, bottom }.cut(&photo);
        assert_eq!(cut(2, 1, 3, 2).expect("a part").pixels[..], [1, 2, 5, 6]);
        assert_eq!(cut(4, 3, 9, 9).expect("the corner").pixels[..], [11]);
        assert_eq!(cut(5, 1, 9, 9), None);
    }

    /// Of two dogs one has a tail, both have wings; of the one cat nothing is flagged.
    #[test]
    fn attributes_are_averages() {
        let names = |names: [&str; 2]| names.map(String::from).to_vec();
        let objects: Vec<Object> = ["1.jpg dog 1 1 2 2 1 1", "2.jpg dog 1 1 2 2 0 1", "2.jpg cat 1 1 2 2 0 0"]
            .map(|text| read(text).expect("an object"))
            .to_vec();
        let annotations = Annotations {
            classes: names(["cat", "dog"]),
            attributes: names(["Tail", "Wing"]),
            objects,
            counts: [3, 0, 0],
        };
        let catalogue = annotations.averages(annotations.objects.iter());
        assert_eq!(catalogue.attributes(ClassId(1)), [0.5, 1.0]);
        assert_eq!(catalogue.attributes(ClassId(0)), [0.0, 0.0]);
    }
}
