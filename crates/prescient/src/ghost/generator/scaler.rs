//! Features brought to [0, 1], dimension by dimension, and back.

use tch::{Device, Kind, Tensor};

/// The range of each dimension.
#[derive(Debug)]
pub struct Scaler {
    low: Tensor,
    range: Tensor,
}

impl Scaler {
    /// Changes nothing.
    pub fn identity(width: usize, device: Device) -> Self {
        let options = (Kind::Float, device);
        Self { low: Tensor::zeros([width as i64], options), range: Tensor::ones([width as i64], options) }
    }

    /// From the smallest and largest value of each column of `features`, `[rows, width]`.
    pub fn fit(features: &Tensor) -> Self {
        let low = features.amin([0i64].as_slice(), false);
        let range = features.amax([0i64].as_slice(), false) - &low;
        // A dimension that never changes is only moved.
        let range = range.where_self(&range.gt(0.0), &range.ones_like());
        Self { low, range }
    }

    /// To [0, 1].
    pub fn scale(&self, features: &Tensor) -> Tensor {
        (features - &self.low) / &self.range
    }

    /// And back.
    pub fn unscale(&self, scaled: &Tensor) -> Tensor {
        scaled * &self.range + &self.low
    }

    pub(crate) fn tensors(&self) -> [(&'static str, Tensor); 2] {
        [("scaler.low", self.low.shallow_clone()), ("scaler.range", self.range.shallow_clone())]
    }

    pub(crate) fn from_tensors(low: Tensor, range: Tensor) -> Self {
        Self { low, range }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{assert_close, matrix};

    /// Columns 1…3 and 5…5: (2, 5) becomes (0.5, 0) and comes back.
    #[test]
    fn there_and_back() {
        let features = matrix([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]);
        let scaler = Scaler::fit(&features);
        let scaled = scaler.scale(&features);
        assert_close(&(&scaled - matrix([[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]])).abs().max(), 0.0);
        assert_close(&(scaler.unscale(&scaled) - features).abs().max(), 0.0);
    }
}
