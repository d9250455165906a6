//! The cosine classifier: Eq. 1.
//!
//! ```text
//!             ⟨θ_c, h⟩
//! ŷ_c = η ─────────────
//!          ‖θ_c‖ · ‖h‖
//! ```
//!
//! One proxy `θ_c` a class. The scale `η > 0` is learned: without it a cosine in [−1, 1] cannot train (errata 6).

use crate::engine::norm::unit_rows;
use tch::{Device, Kind, Tensor};

/// Proxies and the scale.
#[derive(Debug)]
pub struct CosineClassifier {
    /// `θ`, a block a task: old blocks can be frozen while the newest learns.
    blocks: Vec<Tensor>,
    /// `ρ`, with `η = softplus(ρ)`: positive wherever the optimizer takes it.
    raw_scale: Tensor,
    learned: bool,
}

/// `ln(e − 1)`: where softplus is 1.
const RAW_ONE: f64 = 0.541_324_854_612_918;

impl CosineClassifier {
    /// No classes yet, `η = 1`.
    pub fn new(scale_learned: bool, device: Device) -> Self {
        let raw_scale = Tensor::from_slice(&[RAW_ONE as f32]).to_device(device);
        Self { blocks: Vec::new(), raw_scale: raw_scale.set_requires_grad(scale_learned), learned: scale_learned }
    }

    /// From proxies, a block a task, and `ρ`, as a run folder keeps them.
    pub fn from_parts(scale_learned: bool, blocks: Vec<Tensor>, raw_scale: Tensor) -> Self {
        let blocks = blocks.into_iter().map(|block| block.set_requires_grad(true)).collect();
        Self { blocks, raw_scale: raw_scale.set_requires_grad(scale_learned), learned: scale_learned }
    }

    /// How many classes have a proxy.
    pub fn classes(&self) -> usize {
        self.blocks.iter().map(|block| block.size()[0] as usize).sum()
    }

    /// Adds the proxies of new classes, `[classes, width]`.
    pub fn add(&mut self, proxies: &Tensor) {
        self.blocks.push(proxies.detach().copy().set_requires_grad(true));
    }

    /// `η`, `[1]`.
    pub fn scale(&self) -> Tensor {
        self.raw_scale.softplus()
    }

    /// `θ` of all classes, `[classes, width]`.
    pub fn proxies(&self) -> Tensor {
        Tensor::cat(&self.blocks, 0)
    }

    /// `ŷ / η` for features `[batch, width]`: `[batch, classes]`.
    pub fn similarities(&self, features: &Tensor) -> Tensor {
        similarities(features, &self.proxies())
    }

    /// The proxies of each task.
    pub fn blocks(&self) -> &[Tensor] {
        &self.blocks
    }

    /// `ρ`.
    pub fn raw_scale(&self) -> &Tensor {
        &self.raw_scale
    }

    /// Whether `η` learns.
    pub fn scale_learned(&self) -> bool {
        self.learned
    }
}

/// The cosine of each feature, `[batch, width]`, and each proxy, `[classes, width]`: `[batch, classes]`.
pub fn similarities(features: &Tensor, proxies: &Tensor) -> Tensor {
    unit_rows(features).matmul(&unit_rows(proxies).tr())
}

/// The first proxies of classes about which nothing is known: Kaiming's, `[classes, width]`, drawn on the host.
pub fn fresh_proxies(classes: usize, width: usize) -> Tensor {
    Tensor::randn([classes as i64, width as i64], (Kind::Float, Device::Cpu)) / (width as f64).sqrt()
}

/// Where the proxy of a new class starts: the mean direction of its features, `[images, width]`, as long as the
/// existing proxies, `[classes, width]`, are on average. `[width]`.
pub fn imprinted(features: &Tensor, proxies: &Tensor) -> Tensor {
    let mean = unit_rows(features).mean_dim([0i64].as_slice(), true, Kind::Float);
    let length = crate::engine::norm::norm(proxies).mean(Kind::Float);
    (unit_rows(&mean) * length).squeeze_dim(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{assert_close, assert_gradient_matches, golden, matrix};

    /// h = (3, 4); θ = (1, 0), (0, 2), (−3, −4): cosines 0.6, 0.8, −1.
    #[test]
    fn cosines_by_hand() {
        let (features, proxies) = (matrix([[3.0, 4.0]]), matrix([[1.0, 0.0], [0.0, 2.0], [-3.0, -4.0]]));
        let cosines = Vec::<f64>::try_from(similarities(&features, &proxies).flatten(0, -1));
        for (found, expected) in cosines.expect("numbers").iter().zip([0.6, 0.8, -1.0]) {
            assert!((found - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn gradient_matches_finite_differences() {
        let proxies = matrix([[1.0, 0.5, 0.1], [-0.3, 2.0, 0.4]]);
        assert_gradient_matches(&matrix([[0.8, 0.1, -0.3], [0.2, 0.4, 0.1]]), |features| {
            similarities(features, &proxies).square().sum(Kind::Double)
        });
    }

    /// A feature of nothing but zeros, as ReLU can leave behind, must not poison the weights.
    #[test]
    fn a_zero_feature_has_a_finite_slope() {
        let features = matrix([[0.0, 0.0]]).set_requires_grad(true);
        similarities(&features, &matrix([[1.0, 0.5]])).sum(Kind::Double).backward();
        let slopes = Vec::<f64>::try_from(features.grad().flatten(0, -1)).expect("numbers");
        assert!(slopes.iter().all(|slope| slope.is_finite()));
    }

    #[test]
    fn the_scale_starts_at_one() {
        let classifier = CosineClassifier::new(true, Device::Cpu);
        assert_close(&classifier.scale(), 1.0);
    }

    /// Features (1, 0) and (0, 3): mean direction (1, 1)/√2. Proxies of length 5 and 1: mean 3. So 3/√2 each.
    #[test]
    fn imprinting_by_hand() {
        let proxy = imprinted(&matrix([[1.0, 0.0], [0.0, 3.0]]), &matrix([[3.0, 4.0], [0.0, 1.0]]));
        assert_close(&proxy.get(0), 3.0 / 2f64.sqrt());
        assert_close(&proxy.get(1), 3.0 / 2f64.sqrt());
    }

    #[test]
    fn golden_values_of_the_authors_functions() {
        let golden = golden();
        let cosines = similarities(&golden.tensor("/classifier/features"), &golden.tensor("/classifier/weights"));
        // Theirs are minus the squared distance of the two unit vectors: 2 cos − 2.
        assert_close(&(cosines * 2.0 - 2.0 - golden.tensor("/classifier/logits")).abs().max(), 0.0);

        let proxy = imprinted(&golden.tensor("/imprint/class_features"), &golden.tensor("/imprint/existing_weights"));
        assert_close(&(proxy - golden.tensor("/imprint/new_weight")).abs().max(), 0.0);
    }
}
