//! An image as sixteen by sixteen grey cells: enough to tell whether two images show the same, and too little to show anything.
//!
//! A plain frame is cut off first, and the darkest cell becomes 0, the brightest 63. So a copy with a frame, in another size, with
//! less contrast or without colour has almost the same thumbnail.

use crate::data::transforms::resize::resized;
use crate::data::{Channels, Image, Window};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Cells across and down.
pub(super) const SIDE: usize = 16;
/// The brightest cell.
const BRIGHTEST: f32 = 63.0;
/// Grey levels between the darkest and the brightest cell below which an image is flat: all flat images look the same.
const FLAT: u8 = 8;
/// Grey levels by which the pixels of a frame's row differ from their mean, on average, and the rows from each other.
const PLAIN: f32 = 5.0;
/// One character for each grey level.
const LEVELS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// An image as 16 × 16 cells of 64 grey levels. Written as 256 characters.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Thumbnail([u8; SIDE * SIDE]);

/// A part of a thumbnail, as shares of its side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) left: f32,
    pub(super) top: f32,
    pub(super) side: f32,
}

impl Part {
    pub(super) const WHOLE: Self = Self { left: 0.0, top: 0.0, side: 1.0 };
}

impl Thumbnail {
    /// The thumbnail of an image; none where it is flat, or a row of numbers.
    pub fn of(image: &Image) -> Option<Self> {
        if image.width == 0 || image.height == 0 || image.channels == Channels::Features {
            return None;
        }
        let grey = without_frame(grey(image));
        let (width, height) = (grey.width, grey.height);
        let whole = Window::middle(width, height, (f64::from(width), f64::from(height)));
        let small = resized(&grey, whole, (SIDE as u32, SIDE as u32)).pixels;
        let (darkest, brightest) = (*small.iter().min()?, *small.iter().max()?);
        let range = brightest - darkest;
        let level = |cell: &u8| (f32::from(cell - darkest) / f32::from(range) * BRIGHTEST).round() as u8;
        (range >= FLAT).then(|| {
            let mut cells = [0; SIDE * SIDE];
            cells.iter_mut().zip(&small).for_each(|(to, cell)| *to = level(cell));
            Self(cells)
        })
    }

    /// The same in a mirror.
    pub(super) fn mirrored(&self) -> Self {
        let mut cells = self.0;
        cells.chunks_exact_mut(SIDE).for_each(<[u8]>::reverse);
        Self(cells)
    }

    /// A part of it as `N` × `N` numbers, between cells in proportion.
    pub(super) fn sampled<const N: usize>(&self, part: Part) -> [[f32; N]; N] {
        let place = |from: f32, step: usize| {
            let at = (from + (step as f32 + 0.5) / N as f32 * part.side) * SIDE as f32 - 0.5;
            let at = at.clamp(0.0, (SIDE - 1) as f32);
            let cell = (at as usize).min(SIDE - 2);
            (cell, at - cell as f32)
        };
        let columns: [(usize, f32); N] = std::array::from_fn(|x| place(part.left, x));
        std::array::from_fn(|y| {
            let (row, down) = place(part.top, y);
            columns.map(|(column, right)| {
                let at = |row: usize| {
                    let [one, next] = [column, column + 1].map(|column| f32::from(self.0[row * SIDE + column]));
                    one + right * (next - one)
                };
                at(row) + down * (at(row + 1) - at(row))
            })
        })
    }
}

/// In grey, by the weights of Rec. 601, in whole numbers: the same on every machine.
fn grey(image: &Image) -> Image {
    if image.channels == Channels::Grey {
        return image.clone();
    }
    let light = |&[red, green, blue]: &[u8; 3]| {
        ((299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue)) / 1000) as u8
    };
    let pixels = image.pixels.as_chunks::<3>().0.iter().map(light).collect();
    Image { channels: Channels::Grey, pixels, ..*image }
}

/// The image but for a plain frame, or plain bars on two sides across from each other. At most a quarter of each side is cut off.
fn without_frame(grey: Image) -> Image {
    let (width, height) = (grey.width as usize, grey.height as usize);
    let rows = |y: usize| grey.pixels[y * width..][..width].iter().copied();
    let columns = |x: usize| grey.pixels.iter().skip(x).step_by(width).copied();
    let [top, bottom] = [bar(height, rows), bar(height, |y| rows(height - 1 - y))];
    let [left, right] = [bar(width, columns), bar(width, |x| columns(width - 1 - x))];
    // A clear sky is no frame: it is on one side alone.
    let [top, bottom] = if top.min(bottom) > 0 { [top, bottom] } else { [0, 0] };
    let [left, right] = if left.min(right) > 0 { [left, right] } else { [0, 0] };
    match left + right + top + bottom {
        0 => grey,
        // Cut, and not only looked at in a window: a filter would reach beyond it.
        _ => grey.cut(left as u32, top as u32, (width - left - right) as u32, (height - top - bottom) as u32),
    }
}

/// How many of the lines of a side are plain and alike, counted from the edge.
fn bar<I: Iterator<Item = u8> + Clone>(lines: usize, line: impl Fn(usize) -> I) -> usize {
    let mean = |line: I| {
        let (sum, count) = line.fold((0.0, 0.0), |(sum, count), pixel| (sum + f32::from(pixel), count + 1.0));
        sum / count
    };
    let first = mean(line(0));
    let is_plain = |line: I| {
        let own = mean(line.clone());
        let (off, count) = line.fold((0.0, 0.0), |(off, n), pixel| (off + (f32::from(pixel) - own).abs(), n + 1.0));
        (own - first).abs() <= PLAIN && off / count <= PLAIN
    };
    (0..lines / 4).take_while(|&number| is_plain(line(number))).count()
}

impl fmt::Debug for Thumbnail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from(*self))
    }
}

impl From<Thumbnail> for String {
    fn from(thumbnail: Thumbnail) -> Self {
        thumbnail.0.iter().map(|&level| char::from(LEVELS[usize::from(level) % LEVELS.len()])).collect()
    }
}

impl TryFrom<String> for Thumbnail {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let level = |character: u8| LEVELS.iter().position(|&level| level == character).map(|place| place as u8);
        let cells: Option<Vec<u8>> = text.bytes().map(level).collect();
        let cells = cells.and_then(|cells| cells.try_into().ok());
        cells.map(Self).ok_or_else(|| format!("expected a thumbnail of 256 characters, found `{text}`"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A picture without symmetry, `side` pixels wide and high, brighter by `light`.
    pub(crate) fn picture(side: u32, light: u8) -> Image {
        let at = |x: u32, y: u32| {
            let (x, y) = (f64::from(x) / f64::from(side), f64::from(y) / f64::from(side));
            (100.0 + 60.0 * (7.0 * x + 3.0 * y * y).sin() + 30.0 * (5.0 * y).cos()) as u8 + light
        };
        let pixels = (0..side).flat_map(|y| (0..side).flat_map(move |x| [at(x, y); 3])).collect();
        Image { width: side, height: side, channels: Channels::Rgb, pixels }
    }

    /// The picture with a plain frame of so many pixels.
    fn framed(image: &Image, frame: u32, colour: u8) -> Image {
        let (side, inner) = (image.width + 2 * frame, frame..image.width + frame);
        let at = |x: u32, y: u32| match inner.contains(&x) && inner.contains(&y) {
            true => image.pixels[((y - frame) * image.width + x - frame) as usize * 3],
            false => colour,
        };
        let pixels = (0..side).flat_map(|y| (0..side).flat_map(move |x| [at(x, y); 3])).collect();
        Image { width: side, height: side, channels: Channels::Rgb, pixels }
    }

    #[test]
    fn a_thumbnail_reads_back_as_itself() {
        let own = Thumbnail::of(&picture(64, 0)).expect("it is not flat");
        let text = String::from(own);
        assert_eq!((text.len(), Thumbnail::try_from(text)), (256, Ok(own)));
        assert!(Thumbnail::try_from("A".repeat(255)).is_err() && Thumbnail::try_from("é".repeat(128)).is_err());
    }

    #[test]
    fn a_frame_is_cut_off_to_the_pixel() {
        let image = picture(64, 0);
        let own = Thumbnail::of(&image);
        for (frame, colour) in [(1, 0), (3, 255), (7, 10), (16, 220)] {
            assert_eq!(Thumbnail::of(&framed(&image, frame, colour)), own, "{frame} pixels of {colour}");
        }
    }

    /// Plain at the top alone: rows of a sky, which nobody put there.
    #[test]
    fn a_sky_is_not_cut_off() {
        let image = picture(64, 0);
        let mut pixels = image.pixels.to_vec();
        pixels[..10 * 64 * 3].fill(200);
        let whole = without_frame(grey(&Image { pixels: pixels.into(), ..image }));
        assert_eq!((whole.width, whole.height), (64, 64));
    }

    #[test]
    fn light_and_contrast_do_not_matter() {
        let [own, lighter] = [0, 20].map(|light| Thumbnail::of(&picture(64, light)).expect("it is not flat"));
        assert_eq!(own, lighter);
    }

    #[test]
    fn a_flat_image_has_no_thumbnail() {
        let grey = Image { width: 20, height: 20, channels: Channels::Grey, pixels: vec![77; 400].into() };
        assert_eq!(Thumbnail::of(&grey), None);
        assert_eq!(Thumbnail::of(&Image::of_features(&[1.0, 2.0])), None);
    }

    /// The left half of the cells 0 and 1 beside each other is 0.25 of the way: cells lie at their middles.
    #[test]
    fn a_part_lies_between_cells_in_proportion() {
        let mut cells = [0; SIDE * SIDE];
        cells.chunks_exact_mut(SIDE).for_each(|row| row.iter_mut().zip(0..).for_each(|(cell, x)| *cell = x));
        let thumbnail = Thumbnail(cells);
        let whole: [[f32; 16]; 16] = thumbnail.sampled(Part::WHOLE);
        assert_eq!((whole[3][0], whole[0][7], whole[15][15]), (0.0, 7.0, 15.0));
        // Eight steps of one cell each, from 4.0: their middles lie half a cell further than those of the cells.
        let half: [[f32; 8]; 8] = thumbnail.sampled(Part { left: 4.5 / 16.0, top: 0.0, side: 0.5 });
        assert_eq!(half[0][..2], [4.5, 5.5]);
    }
}
