//! The resizing of [`transforms`](super) in whole numbers, on a CPU.
//!
//! ```text
//! across   t[c, y, x] = Σ_i  a_x(i) · image[y, i, c]       kept with 7 bits after the point
//! down     v[c, y, x] = Σ_j  b_y(j) · t[c, j, x]           rounded to a byte
//! ```
//!
//! A random crop is another window every time, so what is worked out anew for each must be cheap: weights lie in memory
//! that is kept, the window is not copied first, planes and mirror images come out of it without a further pass. All sums
//! are of whole numbers, so the two ways to compute them give the same bytes: [`avx2`] for colour images on x86-64, and
//! [`portable`]. Why there are two is in `docs/notebook/2026-11-16-avx2-resize.md`.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;
#[cfg(test)]
mod tests;
mod weights;

use crate::data::{Image, Window};
use std::cell::RefCell;
use weights::Weights;

/// Bits after the point between the two passes: with 8 before it they fill 16 signed ones.
const BETWEEN: u32 = 7;
/// Rows between the passes are as many numbers long that this goes into them.
const COLUMNS: usize = 16;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace::default());
}

/// What the work needs and keeps from one image to the next.
#[derive(Default)]
struct Workspace {
    across: Weights,
    down: Weights,
    #[cfg(target_arch = "x86_64")]
    lanes: avx2::Lanes,
    /// `[rows of the window, channels, stride]`.
    between: Vec<i16>,
}

/// One resizing, once its weights are known.
struct Work<'a> {
    /// From the first pixel that is needed on.
    pixels: &'a [u8],
    /// The bytes of a row of the image.
    stride: usize,
    /// The bytes of a row that are needed.
    needed: usize,
    across: &'a Weights,
    down: &'a Weights,
    /// What lies between the passes: `[rows, channels, columns]`.
    between: &'a mut [i16],
    /// The length of its rows.
    columns: usize,
    /// Planes of the result, one after the other.
    out: &'a mut [u8],
}

/// The window of `image`, scaled to `width` × `height` and mirrored on request: planes one after the other, into `out`.
///
/// # Panics
/// If `out` has another length than the planes.
pub(crate) fn resize(image: &Image, window: Window, (width, height): (u32, u32), mirrored: bool, out: &mut [u8]) {
    WORKSPACE.with_borrow_mut(|workspace| {
        workspace.across.fill(image.width, window.left, window.width, width, mirrored);
        workspace.down.fill(image.height, window.top, window.height, height, false);
        workspace.resize(image, out, true);
    });
}

/// The same as an image of its own.
pub(crate) fn resized(image: &Image, window: Window, (width, height): (u32, u32)) -> Image {
    let channels = usize::from(image.channels);
    let mut planes = vec![0; channels * width as usize * height as usize];
    resize(image, window, (width, height), false, &mut planes);
    let plane = planes.len() / channels;
    let pixels = match channels {
        1 => planes,
        _ => (0..planes.len()).map(|at| planes[at % channels * plane + at / channels]).collect(),
    };
    Image { width, height, channels: image.channels, pixels: pixels.into() }
}

impl Workspace {
    /// With the weights as they are; in wide registers if they are allowed, there, and of use.
    fn resize(&mut self, image: &Image, out: &mut [u8], allow_wide: bool) {
        let Self { across, down, between, .. } = self;
        let (channels, columns) = (usize::from(image.channels), across.first.len().next_multiple_of(COLUMNS));
        assert_eq!(out.len(), channels * across.first.len() * down.first.len(), "there is room for every plane");
        between.resize((down.end - down.start) * channels * columns, 0);
        let stride = image.width as usize * channels;
        let pixels = &image.pixels[down.start * stride + across.start * channels..];
        let needed = (across.end - across.start) * channels;
        let work = Work { pixels, stride, needed, across, down, between, columns, out };
        match channels {
            1 => work.portable::<1>(),
            #[cfg(target_arch = "x86_64")]
            3 if allow_wide && avx2::detect().is_some() => work.avx2(&mut self.lanes),
            3 => work.portable::<3>(),
            other => unreachable!("images are grey or in colour, not of {other} channels"),
        }
    }
}

/// A weight with 15 bits after the point, where one itself has no room.
#[inline(always)]
fn fifteen_bits(weight: i16) -> i16 {
    weight.saturating_mul(1 << (15 - weights::BITS))
}
