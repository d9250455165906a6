//! Which window of an image becomes a square of a fixed size: a random one for training, the middle for evaluation.

use crate::data::transforms::resize::resize;
use crate::data::{Channels, Image};
use crate::seeds::Stream;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Mean and deviation of each channel, for pixels in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalization {
    /// Red, green, blue; grey images use the first.
    pub mean: [f64; 3],
    /// Red, green, blue; grey images use the first.
    pub std: [f64; 3],
}

/// What is done to a training image at random.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Augmentation {
    /// Which part of it is used.
    pub crop: Crop,
    /// Whether every other image is mirrored. Not for digits or letters.
    pub flip: bool,
}

/// Which part of a training image is used. In a recipe it is one string: `none`, `shift 3` or `resized 0.25`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Crop {
    /// The same as of a test image.
    #[default]
    None,
    /// The test view, moved by at most so many pixels each way; what moves in is black.
    Shift {
        /// At most so many.
        pixels: u32,
    },
    /// A part of random area and aspect, enlarged or reduced: torchvision's RandomResizedCrop, the paper's choice.
    Resized {
        /// The smallest part of the area, in (0, 1]; torchvision's default is 0.08.
        area: f64,
    },
}

impl Crop {
    /// What can be written in a recipe.
    pub const FORMS: &'static str =
        "`none`, `shift PIXELS` (0 to 1024) or `resized AREA` (the smallest part of the area, above 0 and at most 1)";
}

impl FromStr for Crop {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let crop = match words[..] {
            ["none"] => Some(Crop::None),
            ["shift", pixels] => pixels.parse().ok().map(|pixels| Crop::Shift { pixels }),
            ["resized", area] => area.parse().ok().map(|area| Crop::Resized { area }),
            _ => None,
        };
        let fits = |crop: &Crop| match *crop {
            Crop::None => true,
            Crop::Shift { pixels } => pixels <= 1024,
            Crop::Resized { area } => area > 0.0 && area <= 1.0,
        };
        crop.filter(fits).ok_or_else(|| format!("the crop `{text}` cannot be read: expected {}", Self::FORMS))
    }
}

impl fmt::Display for Crop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Crop::None => f.write_str("none"),
            Crop::Shift { pixels } => write!(f, "shift {pixels}"),
            Crop::Resized { area } => write!(f, "resized {area}"),
        }
    }
}

impl TryFrom<String> for Crop {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Crop> for String {
    fn from(crop: Crop) -> String {
        crop.to_string()
    }
}

/// A view: a square of `size` pixels.
///
/// ```
/// use prescient::data::View;
///
/// // The middle 224 of a photo whose shorter side is scaled to 256: of 640 × 480 pixels the middle 420.
/// let view = View { size: 224, resize: 256, augmentation: Default::default() };
/// let crop = view.eval_crop(640, 480);
/// assert_eq!((crop.window.left, crop.window.top, crop.window.width), (110.0, 30.0, 420.0));
/// assert!(!crop.flip);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The side of the square.
    pub size: u32,
    /// The shorter side to which a test image is scaled before the middle is cut out.
    pub resize: u32,
    /// What happens to training images.
    pub augmentation: Augmentation,
}

/// A rectangle of an image, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Where it begins.
    pub left: f64,
    /// Where it begins.
    pub top: f64,
    /// How far it reaches.
    pub width: f64,
    /// How far it reaches.
    pub height: f64,
}

impl Window {
    /// The middle of an image of `width` × `height` pixels, so far across and down.
    pub(crate) fn middle(width: u32, height: u32, (across, down): (f64, f64)) -> Self {
        let (left, top) = ((f64::from(width) - across) / 2.0, (f64::from(height) - down) / 2.0);
        Self { left, top, width: across, height: down }
    }
}

/// The crop of one image: chosen before any pixel is read, so that whoever has the pixels, a thread or a GPU, can
/// resize them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CropParams {
    /// The part.
    pub window: Window,
    /// By how many pixels of the view the part is moved, right and down; what moves in is black.
    pub shift: (i64, i64),
    /// Whether it is mirrored.
    pub flip: bool,
}

impl View {
    /// How many bytes one image of so many channels is once it is cropped and resized.
    pub fn bytes(&self, channels: Channels) -> usize {
        let size = self.size as usize;
        match channels {
            Channels::Grey | Channels::Rgb => channels.bytes() * size * size,
            Channels::Features => channels.bytes() * size,
        }
    }

    /// The crop of a training image of this size, drawn from `stream`.
    pub fn train_crop(&self, width: u32, height: u32, stream: &mut Stream) -> CropParams {
        let window = match self.augmentation.crop {
            Crop::Resized { area } => random_window(width, height, area, stream),
            Crop::None | Crop::Shift { .. } => self.middle(width, height),
        };
        let shift = match self.augmentation.crop {
            Crop::Shift { pixels } => {
                let most = i64::from(pixels);
                (stream.random_range(-most..=most), stream.random_range(-most..=most))
            }
            _ => (0, 0),
        };
        CropParams { window, shift, flip: self.augmentation.flip && stream.random::<bool>() }
    }

    /// The crop of an image that is evaluated or whose features are taken.
    pub fn eval_crop(&self, width: u32, height: u32) -> CropParams {
        CropParams { window: self.middle(width, height), shift: (0, 0), flip: false }
    }

    /// The same, mirrored: the paper's generator learns from both.
    pub fn mirrored_crop(&self, width: u32, height: u32) -> CropParams {
        CropParams { flip: true, ..self.eval_crop(width, height) }
    }

    /// Rows of `size` numbers, which are not cropped.
    pub fn of_rows(size: u32) -> Self {
        Self { size, resize: size, augmentation: Augmentation::default() }
    }

    /// The crop of an image: `channels × size × size` bytes, appended to `out`; of a row of numbers, the numbers.
    pub fn render(&self, image: &Image, params: CropParams, out: &mut Vec<u8>) {
        if image.channels == Channels::Features {
            return out.extend_from_slice(&image.pixels);
        }
        let CropParams { window, shift, flip } = params;
        let whole = Window::middle(image.width, image.height, (f64::from(image.width), f64::from(image.height)));
        if window == whole && image.width == self.size && image.height == self.size {
            return self.planes(&image.pixels, image.channels, shift, flip, out);
        }
        let (before, still) = (out.len(), shift == (0, 0));
        out.resize(before + self.bytes(image.channels), 0);
        resize(image, window, (self.size, self.size), still && flip, &mut out[before..]);
        if !still {
            let planes = out.split_off(before);
            let plane = (self.size * self.size) as usize;
            planes.chunks_exact(plane).for_each(|plane| self.planes_of::<1>(plane, shift, flip, out));
        }
    }

    /// The middle square of the image scaled so that its shorter side is `resize`.
    fn middle(&self, width: u32, height: u32) -> Window {
        let side = f64::from(width.min(height)) * f64::from(self.size) / f64::from(self.resize);
        Window::middle(width, height, (side, side))
    }

    /// Pixels side by side become planes one after the other, moved and mirrored on the way.
    fn planes(&self, pixels: &[u8], channels: Channels, shift: (i64, i64), flip: bool, out: &mut Vec<u8>) {
        match channels {
            Channels::Grey => self.planes_of::<1>(pixels, shift, flip, out),
            Channels::Rgb => self.planes_of::<3>(pixels, shift, flip, out),
            Channels::Features => unreachable!("rows of features are not cropped"),
        }
    }

    fn planes_of<const CHANNELS: usize>(&self, pixels: &[u8], shift: (i64, i64), flip: bool, out: &mut Vec<u8>) {
        let size = self.size as usize;
        let (before, plane) = (out.len(), size * size);
        // Black where nothing moves in.
        out.resize(before + CHANNELS * plane, 0);
        let planes = &mut out[before..];
        let ((from_row, to_row, rows), (from, to, count)) = (moved(size, shift.1), moved(size, shift.0));
        let to = if flip { size - to - count } else { to };
        for row in 0..rows {
            let (source, _) = pixels[(from_row + row) * size * CHANNELS..].as_chunks::<CHANNELS>();
            let source = &source[from..from + count];
            for channel in 0..CHANNELS {
                let target = &mut planes[channel * plane + (to_row + row) * size + to..][..count];
                match flip {
                    true => target.iter_mut().rev().zip(source).for_each(|(to, pixel)| *to = pixel[channel]),
                    false => target.iter_mut().zip(source).for_each(|(to, pixel)| *to = pixel[channel]),
                }
            }
        }
    }
}

/// What is left of a side of `size` pixels that is moved by `by`: where it comes from, where it goes to, how much it is.
fn moved(size: usize, by: i64) -> (usize, usize, usize) {
    let away = usize::try_from(by.unsigned_abs()).map_or(size, |away| away.min(size));
    if by < 0 { (away, 0, size - away) } else { (0, away, size - away) }
}

/// torchvision's RandomResizedCrop: ten tries at an area and an aspect between 3/4 and 4/3, else the middle.
fn random_window(width: u32, height: u32, smallest: f64, stream: &mut Stream) -> Window {
    let (width, height) = (f64::from(width), f64::from(height));
    for _ in 0..10 {
        let area = width * height * stream.random_range(smallest..=1.0);
        let aspect = stream.random_range((3.0f64 / 4.0).ln()..=(4.0f64 / 3.0).ln()).exp();
        let (w, h) = ((area * aspect).sqrt().round(), (area / aspect).sqrt().round());
        if (1.0..=width).contains(&w) && (1.0..=height).contains(&h) {
            let left = stream.random_range(0..=(width - w) as u32);
            let top = stream.random_range(0..=(height - h) as u32);
            return Window { left: f64::from(left), top: f64::from(top), width: w, height: h };
        }
    }
    let side = width.min(height);
    Window { left: (width - side) / 2.0, top: (height - side) / 2.0, width: side, height: side }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Seeds;
    use proptest::prelude::*;

    fn view(size: u32, crop: Crop, flip: bool) -> View {
        View { size, resize: size, augmentation: Augmentation { crop, flip } }
    }

    #[test]
    fn a_crop_is_one_string() {
        for text in ["none", "shift 3", "resized 0.25"] {
            assert_eq!(text.parse::<Crop>().expect(text).to_string(), text);
        }
        for text in ["", "shift", "shift -1", "shift 4000000000", "resized 0", "resized NaN", "resized 2", "center"] {
            let error = text.parse::<Crop>().expect_err(text);
            assert_eq!(error, format!("the crop `{text}` cannot be read: expected {}", Crop::FORMS));
        }
    }

    /// Two by two pixels, three channels: pixel p has the bytes 10p, 10p + 1, 10p + 2.
    fn tiny() -> Image {
        let pixels = (0..4).flat_map(|p| [10 * p, 10 * p + 1, 10 * p + 2]).collect();
        Image { width: 2, height: 2, channels: Channels::Rgb, pixels }
    }

    #[test]
    fn pixels_become_planes() {
        let mut out = Vec::new();
        let view = view(2, Crop::None, false);
        view.render(&tiny(), view.eval_crop(2, 2), &mut out);
        assert_eq!(out, [0, 10, 20, 30, 1, 11, 21, 31, 2, 12, 22, 32]);
    }

    #[test]
    fn a_mirror_swaps_the_columns() {
        let mut out = Vec::new();
        let view = view(2, Crop::None, false);
        view.render(&tiny(), view.mirrored_crop(2, 2), &mut out);
        assert_eq!(out[..4], [10, 0, 30, 20]);
    }

    #[test]
    fn a_shift_moves_black_in() {
        let image = Image { width: 2, height: 2, channels: Channels::Grey, pixels: vec![1, 2, 3, 4].into() };
        let mut out = Vec::new();
        view(2, Crop::None, false).planes(&image.pixels, Channels::Grey, (1, 0), false, &mut out);
        assert_eq!(out, [0, 1, 0, 3]);
        out.clear();
        view(2, Crop::None, false).planes(&image.pixels, Channels::Grey, (0, -1), false, &mut out);
        assert_eq!(out, [3, 4, 0, 0]);
    }

    #[test]
    fn a_test_view_is_the_middle() {
        // Four columns, two rows: the middle square is columns 1 and 2.
        let image = Image {
            width: 4,
            height: 2,
            channels: Channels::Grey,
            pixels: vec![0, 50, 100, 150, 0, 60, 110, 150].into(),
        };
        let mut out = Vec::new();
        let view = view(2, Crop::None, false);
        view.render(&image, view.eval_crop(4, 2), &mut out);
        assert_eq!(out, [50, 100, 60, 110]);
    }

    proptest! {
        /// Pixel by pixel: moved first, then mirrored, black where nothing moves in.
        #[test]
        fn planes_are_moved_and_mirrored(size in 1usize..7, right in -8i64..8, down in -8i64..8, flip: bool, grey: bool) {
            let channels = if grey { 1 } else { 3 };
            let pixels: Vec<u8> = (1..=(size * size * channels) as u8).collect();
            let mut expected = Vec::new();
            for channel in 0..channels {
                for y in 0..size as i64 {
                    for x in 0..size as i64 {
                        let (row, column) = (y - down, if flip { size as i64 - 1 - x } else { x } - right);
                        let inside = (0..size as i64).contains(&row) && (0..size as i64).contains(&column);
                        let at = (row * size as i64 + column) * channels as i64 + channel as i64;
                        expected.push(if inside { pixels[at as usize] } else { 0 });
                    }
                }
            }
            let mut out = Vec::new();
            view(size as u32, Crop::None, false).planes(&pixels, if grey { Channels::Grey } else { Channels::Rgb }, (right, down), flip, &mut out);
            prop_assert_eq!(out, expected);
        }

        #[test]
        fn a_random_window_lies_inside(width in 1u32..300, height in 1u32..300, area in 0.01f64..1.0, seed: u64) {
            let window = random_window(width, height, area, &mut Seeds::new(seed).stream("window", 0));
            prop_assert!(window.left >= 0.0 && window.top >= 0.0 && window.width >= 1.0 && window.height >= 1.0);
            prop_assert!(window.left + window.width <= f64::from(width));
            prop_assert!(window.top + window.height <= f64::from(height));
        }

        #[test]
        fn every_view_has_its_size(width in 1u32..80, height in 1u32..80, size in 1u32..40, resize in 0u32..8, seed: u64) {
            let image = Image { width, height, channels: Channels::Rgb, pixels: vec![128; (width * height * 3) as usize].into() };
            for crop in [Crop::None, Crop::Shift { pixels: 3 }, Crop::Resized { area: 0.08 }] {
                let view = View { size, resize: size + resize, augmentation: Augmentation { crop, flip: true } };
                let mut out = Vec::new();
                let params = view.train_crop(width, height, &mut Seeds::new(seed).stream("view", 0));
                view.render(&image, params, &mut out);
                prop_assert_eq!(out.len(), (3 * size * size) as usize);
            }
        }
    }
}
