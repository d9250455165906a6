//! Crops with libtorch alone, for a GPU without kernels of our own: what `cuda/look.cu` does in one pass.
//!
//! ```text
//! seen(y, x) = Σ_i Σ_j  down(y, i) · across(x, j) · image(first_y + i, first_x + j)
//! ```
//!
//! Images differ in size, but the number of taps `i` and `j` does not: as many as the largest image needs. So all shapes are known
//! before, and a step with this in it can be recorded.

use tch::{IndexOp, Kind, Tensor};

/// How many pixels of an image, along one side, go into one pixel of a view of `size` pixels, where at most `extent` of them
/// are seen.
pub(super) fn taps(extent: f64, size: u32) -> i64 {
    (2.0 * (extent / f64::from(size)).max(1.0)).floor() as i64 + 1
}

/// One side of the crops of a batch.
struct Side {
    /// Where pixels come from, `[batch, size, taps]`.
    at: Tensor,
    /// How much of each, `[batch, size, taps]`; nothing where the view moved away.
    weights: Tensor,
}

impl Side {
    /// All arguments but `size` and `taps` are `[batch, 1]`; `pixels` are those of each image along this side.
    fn new([start, extent, shift, flip]: [Tensor; 4], pixels: &Tensor, size: i64, taps: i64) -> Self {
        let options = (Kind::Float, start.device());
        let out = Tensor::arange(size, options).unsqueeze(0);
        // Mirrored, then moved: where in the still view a pixel comes from.
        let from = &out + flip * (-&out * 2.0 + (size - 1) as f64) - shift;
        let inside = from.ge(0.0).logical_and(&from.lt(size as f64)).to_kind(Kind::Float);
        let scale = extent / size as f64;
        let center = (start + (from + 0.5) * &scale).unsqueeze(2);
        let reach = scale.clamp_min(1.0).unsqueeze(2);
        let at = (&center - &reach - 0.5).ceil() + Tensor::arange(taps, options);
        let last = (pixels.to_kind(Kind::Float) - 1.0).unsqueeze(2);
        let there = at.ge(0.0).logical_and(&at.le_tensor(&last)).to_kind(Kind::Float);
        let weights = (-((&at + 0.5 - center).abs() / reach) + 1.0).clamp_min(0.0) * there;
        let sums = weights.sum_dim_intlist([2i64].as_slice(), true, None::<Kind>).clamp_min(1e-6);
        Self {
            at: at.clamp_min(0.0).minimum(&last).to_kind(Kind::Int64),
            weights: weights / sums * inside.unsqueeze(2),
        }
    }
}

/// The crops `[batch, channels, size, size]`, from 0 to 255, of images in `pixels`, `[pixels, channels]`: `places` and `how` are
/// those of [`torch_shim::look`], `taps` those down and across.
pub(super) fn seen(pixels: &Tensor, places: &Tensor, how: &Tensor, size: u32, taps: (i64, i64)) -> Tensor {
    let (batch, size, channels) = (how.size()[0], i64::from(size), pixels.size()[1]);
    let column = |at: i64| how.i((.., at..=at));
    let place = |at: i64| places.i((.., at..=at));
    let (first, width) = (place(0).unsqueeze(2), place(1).unsqueeze(2));
    let across = Side::new([column(0), column(2), column(4), column(6)], &place(1), size, taps.1);
    let down = Side::new([column(1), column(3), column(5), column(6) * 0.0], &place(2), size, taps.0);
    let mut seen = Tensor::zeros([batch, size, size, channels], (Kind::Float, pixels.device()));
    for i in 0..taps.0 {
        let rows = &first + down.at.i((.., .., i)).unsqueeze(2) * &width;
        let of_row = down.weights.i((.., .., i)).unsqueeze(2);
        for j in 0..taps.1 {
            let at = (&rows + across.at.i((.., .., j)).unsqueeze(1)).flatten(0, -1);
            let weight = (&of_row * across.weights.i((.., .., j)).unsqueeze(1)).unsqueeze(3);
            seen += pixels.index_select(0, &at).reshape([batch, size, size, channels]) * weight;
        }
    }
    seen.permute([0, 3, 1, 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enlarged, a pixel comes from two, and a third where it lies between none; reduced by 2.5, from 5 and one more.
    #[test]
    fn a_reduction_takes_as_many_taps_as_it_is_wide() {
        assert_eq!(taps(10.0, 32), 3);
        assert_eq!(taps(32.0, 32), 3);
        assert_eq!(taps(80.0, 32), 6);
    }
}
