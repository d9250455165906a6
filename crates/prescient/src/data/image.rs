//! A decoded image: bytes, row by row, the channels of a pixel side by side.
//!
//! Features that were computed elsewhere are an image, too: one row high, its pixels numbers (ADR 16).

use crate::error::DataError;
use bytes::Bytes;
use std::path::Path;

/// A decoded image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// 1 for grey, 3 for red, green, blue, [`Image::NUMBERS`] for numbers.
    pub channels: u8,
    /// `height × width × channels` bytes, shared and not copied: those of a pack are its file's.
    pub pixels: Bytes,
}

impl Image {
    /// The channels of a row of numbers: the four bytes of an f32, the lowest first.
    pub const NUMBERS: u8 = 4;

    /// A row of numbers.
    pub fn of_numbers(numbers: &[f32]) -> Self {
        let pixels = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        Self { width: numbers.len() as u32, height: 1, channels: Self::NUMBERS, pixels }
    }

    /// Reads and decodes a file (JPEG, PNG, BMP, GIF or WebP) to `channels` channels: 1 for grey, 3 for colour.
    pub fn read(path: impl AsRef<Path>, channels: u8) -> Result<Self, DataError> {
        let path = path.as_ref();
        Self::decode(&std::fs::read(path).map_err(DataError::io(path))?, channels, path)
    }

    /// Decodes a file's bytes (JPEG, PNG, BMP, GIF or WebP) to `channels` channels; `path` is named in the error.
    ///
    /// ```
    /// use prescient::Image;
    /// use std::path::Path;
    ///
    /// let error = Image::decode(b"no photo", 3, Path::new("cat.jpg")).unwrap_err();
    /// assert!(error.to_string().contains("cat.jpg"));
    /// ```
    pub fn decode(bytes: &[u8], channels: u8, path: &Path) -> Result<Self, DataError> {
        let image = image::load_from_memory(bytes)
            .map_err(|error| DataError::Image { path: path.to_owned(), reason: error.to_string().trim().to_owned() })?;
        let (width, height) = (image.width(), image.height());
        let pixels = match channels {
            1 => image.into_luma8().into_raw(),
            _ => image.into_rgb8().into_raw(),
        };
        Ok(Self { width, height, channels, pixels: pixels.into() })
    }

    /// The part of the image from column `left` and row `top`, so many pixels wide and high.
    ///
    /// # Panics
    /// If that reaches beyond the image.
    pub fn cut(&self, left: u32, top: u32, width: u32, height: u32) -> Self {
        let channels = usize::from(self.channels);
        let (row, part) = (self.width as usize * channels, width as usize * channels);
        let from = left as usize * channels;
        assert!(left + width <= self.width && top + height <= self.height, "a part lies inside its image");
        let rows = self.pixels.chunks_exact(row.max(1)).skip(top as usize).take(height as usize);
        let pixels = rows.flat_map(|row| &row[from..from + part]).copied().collect();
        Self { width, height, channels: self.channels, pixels }
    }

    /// The image as a PNG.
    pub fn write_png(&self, path: &Path) -> Result<(), DataError> {
        let color = if self.channels == 1 { image::ExtendedColorType::L8 } else { image::ExtendedColorType::Rgb8 };
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
        let image = Image { width: 3, height: 3, channels: 3, pixels };
        let part = image.cut(1, 1, 2, 2);
        assert_eq!((part.width, part.height), (2, 2));
        assert_eq!(part.pixels[..], [4, 104, 204, 5, 105, 205, 7, 107, 207, 8, 108, 208]);
        assert_eq!(image.cut(0, 0, 3, 3), image);
    }
}
