//! The resizing against its definition, by hand, and against itself.

use super::*;
use proptest::prelude::*;

fn planes(image: &Image, window: Window, size: u32, mirrored: bool) -> Vec<u8> {
    let mut out = vec![0; usize::from(image.channels) * (size * size) as usize];
    resize(image, window, (size, size), mirrored, &mut out);
    out
}

fn whole(image: &Image) -> Window {
    Window::middle(image.width, image.height, (f64::from(image.width), f64::from(image.height)))
}

/// An image without two neighbours alike.
fn scattered(width: u32, height: u32, grey: bool, seed: u64) -> Image {
    let channels = if grey { 1 } else { 3 };
    let count = (width * height) as usize * usize::from(channels);
    let pixels = (0..count as u64).map(|i| (i.wrapping_mul(seed | 1) >> 7) as u8).collect();
    Image { width, height, channels, pixels }
}

/// 0 100 enlarged to four: the places are at 0.25, 0.75, 1.25 and 1.75 pixels, the pixels at 0.5 and 1.5; so
/// 0, 25, 75, 100, the first and last being nearest to the edge.
#[test]
fn an_enlargement_by_hand() {
    let image = Image { width: 2, height: 2, channels: 1, pixels: vec![0, 100, 0, 100].into() };
    assert_eq!(planes(&image, whole(&image), 4, false), [0, 25, 75, 100].repeat(4));
    assert_eq!(planes(&image, whole(&image), 4, true), [100, 75, 25, 0].repeat(4));
}

/// Four pixels to two: a triangle of reach 2 around 1 covers pixels at 0.5, 1.5 and 2.5 with 3/4, 3/4 and 1/4:
/// (3·0 + 3·40 + 80) / 7 = 28.57.
#[test]
fn a_reduction_by_hand() {
    let image = Image { width: 4, height: 1, channels: 1, pixels: vec![0, 40, 80, 120].into() };
    assert_eq!(planes(&image, whole(&image), 2, false)[..2], [29, 91]);
}

/// 2 × 1 pixels to 3 × 1: the middle is half of each.
#[test]
fn an_image_keeps_its_channels_side_by_side() {
    let image = Image { width: 2, height: 1, channels: 3, pixels: vec![0, 10, 20, 100, 110, 120].into() };
    let wider = resized(&image, whole(&image), (3, 1));
    assert_eq!((wider.width, wider.height), (3, 1));
    assert_eq!(wider.pixels[..], [0, 10, 20, 50, 60, 70, 100, 110, 120]);
}

/// The formula of `transforms`, pixel by pixel in real numbers.
fn by_definition(image: &Image, window: Window, size: u32) -> Vec<f64> {
    let weights = |place: u32, start: f64, extent: f64, pixels: u32| -> Vec<f64> {
        let scale = extent / f64::from(size);
        let center = start + (f64::from(place) + 0.5) * scale;
        let weight = |at: u32| (1.0 - (f64::from(at) + 0.5 - center).abs() / scale.max(1.0)).max(0.0);
        let weights: Vec<f64> = (0..pixels).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    };
    let channels = usize::from(image.channels);
    let mut out = Vec::new();
    for channel in 0..channels {
        for y in 0..size {
            let down = weights(y, window.top, window.height, image.height);
            for x in 0..size {
                let across = weights(x, window.left, window.width, image.width);
                let mut sum = 0.0;
                for (row, b) in down.iter().enumerate() {
                    for (column, a) in across.iter().enumerate() {
                        let at = (row * image.width as usize + column) * channels + channel;
                        sum += a * b * f64::from(image.pixels[at]);
                    }
                }
                out.push(sum);
            }
        }
    }
    out
}

proptest! {
    /// Wide registers are quicker, and nothing else.
    #[test]
    fn registers_of_any_width_give_the_same_bytes(
        width in 1u32..90, height in 1u32..90, size in (1u32..70, 1u32..70), grey: bool, mirrored: bool, seed: u64,
        (left, right, top, bottom) in (0.0f64..0.49, 0.0f64..0.49, 0.0f64..0.49, 0.0f64..0.49),
    ) {
        let image = scattered(width, height, grey, seed);
        let [start, extent] = [left * f64::from(width), (1.0 - left - right) * f64::from(width)];
        let mut workspace = Workspace::default();
        workspace.across.fill(width, start, extent, size.0, mirrored);
        workspace.down.fill(height, top * f64::from(height), (1.0 - top - bottom) * f64::from(height), size.1, false);
        let [portable, wide] = [false, true].map(|allow_wide| {
            let mut out = vec![0; usize::from(image.channels) * (size.0 * size.1) as usize];
            workspace.resize(&image, &mut out, allow_wide);
            out
        });
        prop_assert_eq!(portable, wide);
    }

    /// Any window of any image: as defined, rounded once, with weights of 14 bits.
    #[test]
    fn every_window_is_scaled_as_defined(
        width in 1u32..20, height in 1u32..20, size in 1u32..16, grey: bool, seed: u64,
        (left, right, top, bottom) in (0.0f64..0.45, 0.0f64..0.45, 0.0f64..0.45, 0.0f64..0.45),
    ) {
        let image = scattered(width, height, grey, seed);
        let (w, h) = (f64::from(width), f64::from(height));
        let window = Window { left: left * w, top: top * h, width: (1.0 - left - right) * w, height: (1.0 - top - bottom) * h };
        let found = planes(&image, window, size, false);
        for (found, exact) in found.iter().zip(by_definition(&image, window, size)) {
            prop_assert!((f64::from(*found) - exact).abs() < 0.6, "{found} for {exact}");
        }
        let mirrored = planes(&image, window, size, true);
        for (row, back) in found.chunks(size as usize).zip(mirrored.chunks(size as usize)) {
            prop_assert!(row.iter().eq(back.iter().rev()));
        }
    }

    /// Large reductions too: forty pixels and more to one.
    #[test]
    fn a_thumbnail_is_scaled_as_defined(width in 40u32..120, height in 40u32..120, size in 1u32..4, seed: u64) {
        let image = scattered(width, height, true, seed);
        let exact = by_definition(&image, whole(&image), size);
        for (found, exact) in planes(&image, whole(&image), size, false).iter().zip(exact) {
            prop_assert!((f64::from(*found) - exact).abs() < 0.7, "{found} for {exact}");
        }
    }

    #[test]
    fn what_is_flat_stays_as_it_is(width in 1u32..70, height in 1u32..70, size in 1u32..70, value: u8) {
        let image = Image { width, height, channels: 3, pixels: vec![value; (width * height * 3) as usize].into() };
        prop_assert!(planes(&image, whole(&image), size, false).iter().all(|&byte| byte == value));
    }
}
