//! Many images on one: a contact sheet, to see what the images of a class have in common.

use crate::data::{Channels, Image};

/// Between the images and around them, in pixels of the sheet.
const GAP: u32 = 4;
/// Neither as dark nor as light as most images are.
const NEUTRAL: u8 = 128;

/// The images row by row, `columns` to a row, each pixel `zoom` pixels wide. An image that is smaller than the largest
/// lies in the middle of its cell. The sheet is grey if all images are.
///
/// # Panics
/// If `columns` or `zoom` is zero.
pub fn contact_sheet(images: &[Image], columns: usize, zoom: u32) -> Image {
    assert!(columns > 0 && zoom > 0, "a contact sheet has columns and a size");
    let columns = columns.min(images.len().max(1));
    let rows = images.len().div_ceil(columns);
    let cell = |side: fn(&Image) -> u32| images.iter().map(side).max().unwrap_or(0) * zoom;
    let (cell_width, cell_height) = (cell(|image| image.width), cell(|image| image.height));
    let colour = images.iter().any(|image| image.channels == Channels::Rgb);
    let channels = if colour { Channels::Rgb } else { Channels::Grey };

    let width = GAP + columns as u32 * (cell_width + GAP);
    let height = GAP + rows as u32 * (cell_height + GAP);
    let bytes = width as usize * height as usize * channels.count();
    let mut pixels = vec![NEUTRAL; bytes];
    for (index, image) in images.iter().enumerate() {
        let (row, column) = ((index / columns) as u32, (index % columns) as u32);
        let left = GAP + column * (cell_width + GAP) + (cell_width - image.width * zoom) / 2;
        let top = GAP + row * (cell_height + GAP) + (cell_height - image.height * zoom) / 2;
        let to = |x: u32, y: u32| ((top + y) as usize * width as usize + (left + x) as usize) * channels.count();
        place(&mut pixels, channels, to, image, zoom);
    }
    Image { width, height, channels, pixels: pixels.into() }
}

/// Draws an image on a sheet; `place` says where each of its pixels goes.
fn place(sheet: &mut [u8], channels: Channels, place: impl Fn(u32, u32) -> usize, image: &Image, zoom: u32) {
    let (to_channels, from_channels) = (channels.count(), image.channels.count());
    for y in 0..image.height * zoom {
        for x in 0..image.width * zoom {
            let from = ((y / zoom) * image.width + x / zoom) as usize * from_channels;
            let to = place(x, y);
            for channel in 0..to_channels {
                // The one channel of a grey image stands for all three.
                sheet[to + channel] = image.pixels[from + channel.min(from_channels - 1)];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(width: u32, height: u32, colour: &[u8]) -> Image {
        let pixels = colour.repeat((width * height) as usize);
        Image {
            width,
            height,
            channels: if colour.len() == 1 { Channels::Grey } else { Channels::Rgb },
            pixels: pixels.into(),
        }
    }

    fn pixel(sheet: &Image, x: u32, y: u32) -> &[u8] {
        let channels = sheet.channels.count();
        &sheet.pixels[(y * sheet.width + x) as usize * channels..][..channels]
    }

    /// Three 2×1 images, two to a row, zoomed by three: cells of 6×3 and gaps of 4.
    #[test]
    fn images_stand_in_rows() {
        let images = [plain(2, 1, &[10]), plain(2, 1, &[20]), plain(2, 1, &[30])];
        let sheet = contact_sheet(&images, 2, 3);
        assert_eq!((sheet.width, sheet.height, sheet.channels), (24, 18, Channels::Grey));
        assert_eq!(pixel(&sheet, 4, 4), [10]);
        assert_eq!(pixel(&sheet, 19, 6), [20]);
        assert_eq!(pixel(&sheet, 4, 11), [30]);
        assert_eq!(pixel(&sheet, 14, 11), [NEUTRAL], "the fourth cell is empty");
        assert_eq!(pixel(&sheet, 3, 4), [NEUTRAL]);
    }

    #[test]
    fn a_small_image_lies_in_the_middle() {
        let sheet = contact_sheet(&[plain(4, 4, &[1]), plain(2, 2, &[2])], 2, 1);
        assert_eq!(sheet.width, 20);
        assert_eq!(pixel(&sheet, 12, 4), [NEUTRAL]);
        assert_eq!(pixel(&sheet, 13, 5), [2]);
        assert_eq!(pixel(&sheet, 15, 5), [NEUTRAL]);
    }

    #[test]
    fn grey_beside_colour_is_shown_in_colour() {
        let sheet = contact_sheet(&[plain(1, 1, &[7]), plain(1, 1, &[1, 2, 3])], 2, 1);
        assert_eq!(sheet.channels, Channels::Rgb);
        assert_eq!(pixel(&sheet, 4, 4), [7, 7, 7]);
        assert_eq!(pixel(&sheet, 9, 4), [1, 2, 3]);
    }

    #[test]
    fn a_sheet_is_no_wider_than_its_images() {
        assert_eq!(contact_sheet(&[plain(2, 2, &[0])], 10, 1).width, 10);
    }

    #[test]
    fn no_images_make_an_empty_sheet() {
        let sheet = contact_sheet(&[], 10, 4);
        assert_eq!(sheet.pixels.len(), (sheet.width * sheet.height) as usize);
    }
}
