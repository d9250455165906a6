//! A decoded image: bytes, row by row, the channels of a pixel side by side.
//!
//! Features that were computed elsewhere travel as an image of one row, whose [`Channels`] say that it holds numbers
//! (ADR 16).

use crate::error::DataError;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

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
        let pixels = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        Self { width: numbers.len() as u32, height: 1, channels: Channels::Features, pixels }
    }

    /// Reads and decodes a file (JPEG, PNG, BMP, GIF or WebP), in grey or in colour.
    pub fn read(path: impl AsRef<Path>, channels: Channels) -> Result<Self, DataError> {
        let path = path.as_ref();
        Self::decode(&std::fs::read(path).map_err(DataError::io(path))?, channels, path)
    }

    /// Decodes a file's bytes (JPEG, PNG, BMP, GIF or WebP), in grey or in colour; `path` is named in errors.
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
        let image = image::load_from_memory(bytes).map_err(|error| unreadable(&error.to_string()))?;
        let (width, height) = (image.width(), image.height());
        let pixels = match channels {
            Channels::Grey => image.into_luma8().into_raw(),
            Channels::Rgb => image.into_rgb8().into_raw(),
            Channels::Features => return Err(unreadable("rows of features were expected, not an image")),
        };
        Ok(Self { width, height, channels, pixels: pixels.into() })
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

#[cfg(test)]
mod tests {
    use super::*;

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
