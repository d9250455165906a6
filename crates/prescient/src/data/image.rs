//! A decoded image: bytes, row by row, the channels of a pixel side by side.
//!
//! Features that were computed elsewhere travel as an image of one row, whose [`Channels`] say that it holds numbers
//! (ADR 16).

use crate::disk;
use crate::error::DataError;
use bytes::Bytes;
use image::error::{LimitError, LimitErrorKind};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, ImageResult, Limits, RgbImage};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{BufRead, Cursor, Seek};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// As many bytes a decoded image may take: 67 megapixels in colour. A small file can declare any size.
const LARGEST: u64 = 192 << 20;
/// Images larger than this are decoded one at a time: each thread would take as much.
const LARGE: u64 = 32 << 20;

/// What a pixel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channels {
    /// One byte.
    Grey,
    /// Three bytes: red, green, blue.
    Rgb,
    /// No colour but a number: one of a row of features that were computed elsewhere, an f32 in four bytes, the lowest
    /// first.
    Features,
}

impl Channels {
    /// How many there are: 1 or 3.
    pub fn count(self) -> usize {
        match self {
            Self::Grey | Self::Features => 1,
            Self::Rgb => 3,
        }
    }

    /// The bytes of a pixel.
    pub fn bytes(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb => 3,
            Self::Features => 4,
        }
    }
}

impl fmt::Display for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Grey => "grey images",
            Self::Rgb => "images in colour",
            Self::Features => "rows of features",
        })
    }
}

/// A decoded image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// What a pixel is made of.
    pub channels: Channels,
    /// `height × width` pixels, shared and not copied: those of a pack are its file's.
    pub pixels: Bytes,
}

impl Image {
    /// A row of features.
    pub fn of_features(numbers: &[f32]) -> Self {
        let mut pixels = Vec::with_capacity(4 * numbers.len());
        numbers.iter().for_each(|number| pixels.extend_from_slice(&number.to_le_bytes()));
        Self { width: numbers.len() as u32, height: 1, channels: Channels::Features, pixels: pixels.into() }
    }

    /// Reads and decodes a file (JPEG, PNG, BMP, GIF or WebP), in grey or in colour.
    pub fn read(path: impl AsRef<Path>, channels: Channels) -> Result<Self, DataError> {
        let path = path.as_ref();
        Self::decode(&disk::read(path, disk::IMAGE).map_err(DataError::io(path))?, channels, path)
    }

    /// Decodes a file's bytes (JPEG, PNG, BMP, GIF or WebP), in grey or in colour; `path` is named in errors.
    ///
    /// The image is turned as its EXIF orientation says. What is transparent lies on white.
    ///
    /// ```
    /// use prescient::data::{Channels, Image};
    /// use std::path::Path;
    ///
    /// let error = Image::decode(b"no photo", Channels::Rgb, Path::new("cat.jpg")).unwrap_err();
    /// assert!(error.to_string().contains("cat.jpg"));
    /// ```
    pub fn decode(bytes: &[u8], channels: Channels, path: &Path) -> Result<Self, DataError> {
        let unreadable = |reason: &str| DataError::Image { path: path.to_owned(), reason: reason.trim().to_owned() };
        let (image, _alone) = upright(bytes).map_err(|error| unreadable(&error.to_string()))?;
        let image = if image.color().has_alpha() { on_white(image) } else { image };
        let (width, height) = (image.width(), image.height());
        let pixels = match channels {
            Channels::Grey => image.into_luma8().into_raw(),
            Channels::Rgb => image.into_rgb8().into_raw(),
            Channels::Features => return Err(unreadable("rows of features were expected, not an image")),
        };
        Ok(Self { width, height, channels, pixels: pixels.into() })
    }

    /// The width and height of an encoded image, from its header alone and before it is turned; none where it cannot be told.
    pub(crate) fn dimensions(reader: impl BufRead + Seek) -> Option<(u32, u32)> {
        ImageReader::new(reader).with_guessed_format().ok()?.into_dimensions().ok()
    }

    /// The part of the image from column `left` and row `top`, so many pixels wide and high.
    ///
    /// # Panics
    /// If that reaches beyond the image.
    pub fn cut(&self, left: u32, top: u32, width: u32, height: u32) -> Self {
        let channels = self.channels.bytes();
        let (row, part) = (self.width as usize * channels, width as usize * channels);
        let from = left as usize * channels;
        assert!(left + width <= self.width && top + height <= self.height, "a part lies inside its image");
        let rows = self.pixels.chunks_exact(row.max(1)).skip(top as usize).take(height as usize);
        let pixels = rows.flat_map(|row| &row[from..from + part]).copied().collect();
        Self { width, height, channels: self.channels, pixels }
    }

    /// The image as a PNG.
    pub fn write_png(&self, path: &Path) -> Result<(), DataError> {
        let color = match self.channels {
            Channels::Grey => image::ExtendedColorType::L8,
            Channels::Rgb => image::ExtendedColorType::Rgb8,
            Channels::Features => unreachable!("rows of features are not shown"),
        };
        image::save_buffer_with_format(path, &self.pixels, self.width, self.height, color, image::ImageFormat::Png)
            .map_err(|error| DataError::Io { path: path.to_owned(), source: std::io::Error::other(error) })
    }
}

/// Decodes an image and turns it as its EXIF orientation says: phones store photos as their sensor lies. A large one comes with a
/// lock that keeps other large ones waiting.
fn upright(bytes: &[u8]) -> ImageResult<(DynamicImage, Option<MutexGuard<'static, ()>>)> {
    static ONE: Mutex<()> = Mutex::new(());
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(LARGEST);
    reader.limits(limits);
    // Asking how to turn a JPEG parses its header once more; without this word in it there is nothing to find.
    let never_turned = reader.format() == Some(ImageFormat::Jpeg) && memmem::find(bytes, b"Exif").is_none();
    let mut decoder = reader.into_decoder()?;
    if decoder.total_bytes() > LARGEST {
        return Err(ImageError::Limits(LimitError::from_kind(LimitErrorKind::InsufficientMemory)));
    }
    let alone = (decoder.total_bytes() > LARGE).then(|| ONE.lock().unwrap_or_else(PoisonError::into_inner));
    let orientation = match never_turned {
        true => Orientation::NoTransforms,
        // Where it cannot be read there is none.
        false => decoder.orientation().unwrap_or(Orientation::NoTransforms),
    };
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok((image, alone))
}

/// The same image without transparency: blended onto white, as a browser shows it.
fn on_white(image: DynamicImage) -> DynamicImage {
    let image = image.into_rgba8();
    let (width, height) = image.dimensions();
    let blend = |color: u8, alpha: u8| {
        let (color, alpha) = (u32::from(color), u32::from(alpha));
        ((color * alpha + 255 * (255 - alpha) + 127) / 255) as u8
    };
    let pixels = image.pixels().flat_map(|pixel| {
        let [red, green, blue, alpha] = pixel.0;
        [red, green, blue].map(|color| blend(color, alpha))
    });
    DynamicImage::ImageRgb8(RgbImage::from_raw(width, height, pixels.collect()).expect("three bytes for each pixel"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::codecs::jpeg::JpegEncoder;
    use image::{ImageEncoder, RgbaImage};

    /// Left half red, right half blue, 32 wide and 16 high, as a phone that was held upright stores it: "turn by 90 degrees".
    #[test]
    fn photos_are_turned_as_their_exif_orientation_says() {
        let drawn = RgbImage::from_fn(32, 16, |x, _| image::Rgb(if x < 16 { [250, 0, 0] } else { [0, 0, 250] }));
        // Little-endian TIFF with one entry: orientation (0x0112), a short, one of it.
        let decoded = |orientation: u8| {
            let exif = [&b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"[..], &[orientation], &[0; 7]].concat();
            let mut bytes = Vec::new();
            let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 95);
            encoder.set_exif_metadata(exif).expect("JPEG has EXIF");
            encoder.encode_image(&drawn).expect("a JPEG");
            Image::decode(&bytes, Channels::Rgb, Path::new("phone.jpg")).expect("a photo")
        };
        let red_at = |image: &Image, x: u32, y: u32| image.pixels[((y * image.width + x) * 3) as usize] > 125;
        for (orientation, size, red, blue) in [
            (1, (32, 16), (2, 8), (29, 8)),
            (3, (32, 16), (29, 8), (2, 8)),
            // Clockwise: what was left is on top.
            (6, (16, 32), (8, 2), (8, 29)),
            (8, (16, 32), (8, 29), (8, 2)),
            (2, (32, 16), (29, 8), (2, 8)),
        ] {
            let image = decoded(orientation);
            assert_eq!((image.width, image.height), size, "orientation {orientation}");
            assert!(red_at(&image, red.0, red.1) && !red_at(&image, blue.0, blue.1), "orientation {orientation}");
        }
    }

    /// 100 of 255 parts of (10, 20, 30), the rest white: 10 · 100/255 + 155 = 158.9, and so on. Nothing of it: white.
    #[test]
    fn what_is_transparent_lies_on_white() {
        let drawn = RgbaImage::from_raw(3, 1, vec![10, 20, 30, 100, 10, 20, 30, 0, 10, 20, 30, 255]).expect("pixels");
        let mut bytes = Vec::new();
        let encoder = image::codecs::png::PngEncoder::new(&mut bytes);
        encoder.write_image(drawn.as_raw(), 3, 1, image::ExtendedColorType::Rgba8).expect("a PNG");
        let decoded = |channels| Image::decode(&bytes, channels, Path::new("logo.png")).expect("an image").pixels;
        assert_eq!(decoded(Channels::Rgb)[..], [159, 163, 167, 255, 255, 255, 10, 20, 30]);
        assert_eq!(decoded(Channels::Grey)[1], 255);
    }

    /// Of 0 1 2 / 3 4 5 / 6 7 8 the two columns on the right, the two rows at the bottom: 4 5 / 7 8.
    #[test]
    fn a_part_is_cut_out() {
        let pixels = (0..9).flat_map(|pixel| [pixel, pixel + 100, pixel + 200]).collect();
        let image = Image { width: 3, height: 3, channels: Channels::Rgb, pixels };
        let part = image.cut(1, 1, 2, 2);
        assert_eq!((part.width, part.height), (2, 2));
        assert_eq!(part.pixels[..], [4, 104, 204, 5, 105, 205, 7, 107, 207, 8, 108, 208]);
        assert_eq!(image.cut(0, 0, 3, 3), image);
    }
}
