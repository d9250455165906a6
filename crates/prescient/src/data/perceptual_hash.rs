//! When two images are duplicates, and when they are near duplicates.
//!
//! Duplicates: all their pixels agree, whatever their files are called and whatever else is written in them. Near
//! duplicates: reduced to a few dozen grey cells, they get brighter and darker at the same places (a "difference hash"), which
//! survives another size, another compression and a little more light.

use crate::data::Window;
use crate::data::transforms::resize::resized;
use crate::data::{Channels, Image};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Cells across and down; each is compared with its neighbour on the right and the one below.
const CELLS: usize = 8;
/// Grey levels by which neighbours must differ, once at least, for an image to have a hash at all.
const FLAT: u8 = 8;

/// A hash of all pixels: two images have the same one if and only if they are the same.
pub fn content(image: &Image) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(&image.width.to_le_bytes())
        .update(&image.height.to_le_bytes())
        .update(&[image.channels.bytes() as u8]);
    hasher.update(&image.pixels).finalize()
}

/// Where an image gets darker: 64 bits from left to right, 64 from top to bottom.
///
/// Written as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PerceptualHash(u128);

/// How near two images are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearness {
    /// In so many places they differ.
    pub places: u32,
    /// Of so many.
    pub of: u32,
    /// Whether one of them is mirrored.
    pub mirrored: bool,
}

impl fmt::Display for Nearness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mirrored = if self.mirrored { "mirrored, " } else { "" };
        write!(f, "{mirrored}differs in {} of {} places", self.places, self.of)
    }
}

impl From<PerceptualHash> for String {
    fn from(hash: PerceptualHash) -> Self {
        format!("{:032x}", hash.0)
    }
}

impl TryFrom<String> for PerceptualHash {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = (text.len() == 32).then(|| u128::from_str_radix(&text, 16).ok()).flatten();
        digits.map(Self).ok_or_else(|| format!("expected 32 hexadecimal digits, found `{text}`"))
    }
}

impl PerceptualHash {
    /// Two images that differ in at most so many of 128 places are near duplicates.
    ///
    /// Measured by `bench/src/near_duplicates.rs`; the numbers are in `docs/guide/data.md`.
    pub const NEAR: u32 = 10;

    /// The hash of an image; none if it is flat, for all flat images would have the same.
    pub fn of(image: &Image) -> Option<Self> {
        if image.width == 0 || image.height == 0 || image.channels == Channels::Features {
            return None;
        }
        let cells = reduced(image).pixels;
        let at = |x: usize, y: usize| cells[y * (CELLS + 1) + x];
        let mut bits = 0u128;
        let mut most = 0;
        for y in 0..CELLS {
            for x in 0..CELLS {
                for neighbour in [at(x + 1, y), at(x, y + 1)] {
                    bits = bits << 1 | u128::from(at(x, y) > neighbour);
                    most = most.max(at(x, y).abs_diff(neighbour));
                }
            }
        }
        (most >= FLAT).then_some(Self(bits))
    }

    /// How near two images are, as they are or one of them mirrored: training mirrors images, so a mirrored copy of a test image is
    /// learned from. None where they are not near.
    pub fn nearness(self, other: Self) -> Option<Nearness> {
        let as_they_are = Nearness { places: self.distance(other), of: 128, mirrored: false };
        let mirrored = Nearness { places: self.mirrored_distance(other), of: 120, mirrored: true };
        [as_they_are, mirrored].into_iter().filter(|near| near.places <= Self::NEAR).min_by_key(|near| near.places)
    }

    /// In how many of 120 places an image differs from another in the mirror. What is brighter than its right neighbour is not brighter
    /// than its left one; of the places below, the last column was not noted.
    fn mirrored_distance(self, other: Self) -> u32 {
        let bit = |x: usize, y: usize, below: usize| 1u128 << (127 - ((y * CELLS + x) * 2 + below));
        let (mut mirrored, mut known) = (0u128, 0u128);
        for y in 0..CELLS {
            for x in 0..CELLS {
                if self.0 & bit(CELLS - 1 - x, y, 0) == 0 {
                    mirrored |= bit(x, y, 0);
                }
                known |= bit(x, y, 0);
                if x > 0 {
                    if self.0 & bit(CELLS - x, y, 1) != 0 {
                        mirrored |= bit(x, y, 1);
                    }
                    known |= bit(x, y, 1);
                }
            }
        }
        ((mirrored ^ other.0) & known).count_ones()
    }

    /// In how many of 128 places two images differ.
    pub fn distance(self, other: Self) -> u32 {
        (self.0 ^ other.0).count_ones()
    }
}

/// The image as 9 × 9 grey cells.
fn reduced(image: &Image) -> Image {
    let grey = match image.channels {
        Channels::Grey => image.clone(),
        _ => {
            let pixels = image.pixels.as_chunks::<3>().0.iter();
            // The weights of Rec. 601, in whole numbers: the same on every machine.
            let light = |&[red, green, blue]: &[u8; 3]| {
                ((299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue)) / 1000) as u8
            };
            Image { channels: Channels::Grey, pixels: pixels.map(light).collect(), ..*image }
        }
    };
    let (width, height) = (image.width, image.height);
    let whole = Window::middle(width, height, (f64::from(width), f64::from(height)));
    resized(&grey, whole, (CELLS as u32 + 1, CELLS as u32 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture without symmetry, `side` pixels wide and high, brighter by `light`.
    fn picture(side: u32, light: u8) -> Image {
        let at = |x: u32, y: u32| {
            let (x, y) = (f64::from(x) / f64::from(side), f64::from(y) / f64::from(side));
            (100.0 + 60.0 * (7.0 * x + 3.0 * y * y).sin() + 30.0 * (5.0 * y).cos()) as u8 + light
        };
        let pixels = (0..side).flat_map(|y| (0..side).flat_map(move |x| [at(x, y); 3])).collect();
        Image { width: side, height: side, channels: Channels::Rgb, pixels }
    }

    fn hash(image: &Image) -> PerceptualHash {
        PerceptualHash::of(image).expect("it is not flat")
    }

    #[test]
    fn one_pixel_makes_another_image() {
        let image = picture(32, 0);
        assert_eq!(content(&image), content(&image.clone()));
        let mut pixels = image.pixels.to_vec();
        pixels[100] ^= 1;
        let other = Image { pixels: pixels.into(), ..image.clone() };
        assert_ne!(content(&image), content(&other));
        let turned = Image { width: 16, height: 64, ..image.clone() };
        assert_ne!(content(&image), content(&turned), "the same bytes in another shape");
    }

    #[test]
    fn size_and_light_hardly_change_a_hash() {
        let near = hash(&picture(64, 0)).distance(hash(&picture(90, 0)));
        assert!(near <= PerceptualHash::NEAR, "{near}");
        assert!(hash(&picture(64, 0)).distance(hash(&picture(64, 20))) <= PerceptualHash::NEAR);
    }

    #[test]
    fn a_mirror_image_is_near_and_told_as_such() {
        let image = picture(64, 0);
        let mut pixels = image.pixels.to_vec();
        pixels.chunks_exact_mut(64 * 3).for_each(|row| row.reverse());
        let mirrored = Image { pixels: pixels.into(), ..image.clone() };
        assert!(hash(&image).distance(hash(&mirrored)) > 2 * PerceptualHash::NEAR);
        let near = hash(&image).nearness(hash(&mirrored)).expect("a mirror image");
        assert!(near.mirrored && near.places <= 3, "{near}");
        assert_eq!(hash(&image).nearness(hash(&image)).map(|near| (near.places, near.mirrored)), Some((0, false)));
        // Turned upside down it is another.
        let mut pixels = image.pixels.to_vec();
        pixels.reverse();
        assert_eq!(hash(&image).nearness(hash(&Image { pixels: pixels.into(), ..image.clone() })), None);
    }

    #[test]
    fn a_hash_reads_back_as_itself() {
        let own = hash(&picture(64, 0));
        assert_eq!(PerceptualHash::try_from(String::from(own)), Ok(own));
        assert!(PerceptualHash::try_from("12".to_owned()).is_err());
    }

    #[test]
    fn a_flat_image_has_no_hash() {
        let grey = Image { width: 20, height: 20, channels: Channels::Grey, pixels: vec![77; 400].into() };
        assert_eq!(PerceptualHash::of(&grey), None);
    }
}
