//! A photo from somebody unknown. Its header is read before its pixels: a small file can declare any size, and a JPEG that is cut short
//! decodes to grey without a word.

use crate::data::check::is_cut;
use crate::data::{Channels, Image};
use crate::error::DataError;
use bytes::Bytes;
use std::fmt;
use std::io::Cursor;
use std::path::Path;

/// A photo that has a known format and a size within the limit. Its pixels are not decoded yet.
#[derive(Clone, Debug)]
pub struct Untrusted {
    bytes: Bytes,
    width: u32,
    height: u32,
}

/// Why a photo is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There are no bytes.
    Empty,
    /// The bytes are of no format that is read.
    NotAnImage,
    /// The header declares too many pixels.
    TooLarge {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
        /// How many pixels are taken.
        most: u64,
    },
    /// The file ends too early.
    Cut,
    /// It does not decode.
    Broken(
        /// The decoder's words.
        String,
    ),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("expected a photo, found no bytes"),
            Self::NotAnImage => f.write_str("expected a JPEG, PNG, WebP, GIF or BMP, found something else"),
            Self::TooLarge { width, height, most } => {
                let found = f64::from(*width) * f64::from(*height) / 1e6;
                write!(
                    f,
                    "expected at most {:.1} megapixels, found {width} × {height} ({found:.1})",
                    *most as f64 / 1e6
                )
            }
            Self::Cut => f.write_str("the photo is cut short: its end is missing"),
            Self::Broken(reason) => write!(f, "the photo does not decode: {reason}"),
        }
    }
}

impl Untrusted {
    /// Reads the header alone; photos of more than `most` pixels are refused.
    ///
    /// ```
    /// use prescient::data::{Refused, Untrusted};
    ///
    /// assert_eq!(Untrusted::open("", 1_000_000).unwrap_err(), Refused::Empty);
    /// assert_eq!(Untrusted::open("no photo", 1_000_000).unwrap_err(), Refused::NotAnImage);
    /// ```
    pub fn open(bytes: impl Into<Bytes>, most: u64) -> Result<Self, Refused> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(Refused::Empty);
        }
        if image::guess_format(&bytes).is_err() {
            return Err(Refused::NotAnImage);
        }
        let (width, height) = Image::dimensions(Cursor::new(&bytes))
            .ok_or_else(|| Refused::Broken("its header cannot be read".into()))?;
        if u64::from(width) * u64::from(height) > most {
            return Err(Refused::TooLarge { width, height, most });
        }
        Ok(Self { bytes, width, height })
    }

    /// How many pixels its header declares.
    pub fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Decodes it, in grey or in colour.
    pub fn decode(&self, channels: Channels) -> Result<Image, Refused> {
        if is_cut(&self.bytes) {
            return Err(Refused::Cut);
        }
        Image::decode(&self.bytes, channels, Path::new("photo")).map_err(|error| match error {
            DataError::Image { reason, .. } => Refused::Broken(reason),
            other => Refused::Broken(other.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ExtendedColorType, ImageEncoder};

    fn jpeg(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let pixels: Vec<u8> = (0..width * height * 3).map(|at| (at * 7) as u8).collect();
        image::codecs::jpeg::JpegEncoder::new(&mut bytes)
            .write_image(&pixels, width, height, ExtendedColorType::Rgb8)
            .expect("a JPEG");
        bytes
    }

    #[test]
    fn a_whole_photo_within_the_limit_is_decoded() {
        let bytes = jpeg(40, 30);
        let photo = Untrusted::open(bytes, 1200).expect("40 × 30 is 1200 pixels");
        assert_eq!(photo.pixels(), 1200);
        let image = photo.decode(Channels::Rgb).expect("it decodes");
        assert_eq!((image.width, image.height), (40, 30));
    }

    #[test]
    fn one_pixel_too_many_is_refused_before_decoding() {
        let refused = Untrusted::open(jpeg(40, 30), 1199).expect_err("too large");
        assert_eq!(refused, Refused::TooLarge { width: 40, height: 30, most: 1199 });
    }

    /// The decoder would fill the missing half with grey.
    #[test]
    fn half_a_jpeg_is_cut() {
        let mut bytes = jpeg(40, 30);
        bytes.truncate(bytes.len() * 3 / 4);
        let photo = Untrusted::open(bytes, 1 << 20).expect("its header is whole");
        assert_eq!(photo.decode(Channels::Rgb).expect_err("cut"), Refused::Cut);
    }

    /// A header that promises 10,000 × 10,000 pixels in 57 bytes.
    #[test]
    fn a_png_that_declares_a_hundred_megapixels_is_refused_by_its_header() {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend([10_000u32.to_be_bytes(), 10_000u32.to_be_bytes()].concat());
        bytes.extend([8, 2, 0, 0, 0]);
        let mut crc = flate2::Crc::new();
        crc.update(&bytes[12..]);
        bytes.extend(crc.sum().to_be_bytes());
        bytes.extend(b"\0\0\0\0IDAT\x35\xaf\x06\x1e\0\0\0\0IEND\xae\x42\x60\x82");
        let refused = Untrusted::open(bytes, 50_000_000).expect_err("too large");
        assert_eq!(refused, Refused::TooLarge { width: 10_000, height: 10_000, most: 50_000_000 });
        assert_eq!(refused.to_string(), "expected at most 50.0 megapixels, found 10000 × 10000 (100.0)");
    }
}
