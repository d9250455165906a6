//! A decoded image: bytes, row by row, the channels of a pixel side by side.

use crate::error::DataError;
use std::path::Path;

/// A decoded image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// 1 for grey, 3 for red, green, blue.
    pub channels: u8,
    /// `height × width × channels` bytes.
    pub pixels: Vec<u8>,
}

impl Image {
    /// Decodes a file's bytes (JPEG, PNG, BMP, GIF or WebP) to `channels` channels; `path` is named in the error.
    pub fn decode(bytes: &[u8], channels: u8, path: &Path) -> Result<Self, DataError> {
        let image = image::load_from_memory(bytes)
            .map_err(|error| DataError::Image { path: path.to_owned(), reason: error.to_string().trim().to_owned() })?;
        let (width, height) = (image.width(), image.height());
        let pixels = match channels {
            1 => image.into_luma8().into_raw(),
            _ => image.into_rgb8().into_raw(),
        };
        Ok(Self { width, height, channels, pixels })
    }

    /// The image as a PNG.
    pub fn write_png(&self, path: &Path) -> Result<(), DataError> {
        let color = if self.channels == 1 { image::ExtendedColorType::L8 } else { image::ExtendedColorType::Rgb8 };
        image::save_buffer_with_format(path, &self.pixels, self.width, self.height, color, image::ImageFormat::Png)
            .map_err(|error| DataError::Io { path: path.to_owned(), source: std::io::Error::other(error) })
    }
}
