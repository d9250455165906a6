//! The generator's loss: Eq. 7, the squared maximum mean discrepancy.
//!
//! ```text
//! MMD² = mean k(x, x') − 2 mean k(x, y) + mean k(y, y'),      k(a, b) = Σ_σ exp(−‖a − b‖² / 2σ)
//! ```
//!
//! The means run over all pairs, a sample with itself too. `σ` stands where a variance would: errata 15.
//!
//! Its slope is short enough to be written down, and then a step needs neither the tape of autograd nor the block of
//! real against real samples, which never changes:
//!
//! ```text
//!  ∂ MMD²      4                           4
//! ──────── = ───── Σ_x w(x, y)·(y − x) − ───── Σ_y' w(y, y')·(y − y'),      w(a, b) = Σ_σ exp(−‖a − b‖² / 2σ) / 2σ
//!   ∂ y       n m                          m²
//! ```

use crate::engine::has_kernels_on;
use crate::loss::kernel;
use tch::{Device, Kind, Tensor, no_grad};

/// How unlike two sets of samples are.
#[derive(Clone, Debug, PartialEq)]
pub struct Mmd {
    /// `σ`, one kernel each.
    pub bandwidths: Vec<f64>,
    /// Minimize the root instead, as the authors' code does. The minimum is the same.
    pub root: bool,
}

impl Default for Mmd {
    fn default() -> Self {
        Self { bandwidths: vec![2.0, 5.0, 10.0, 20.0, 40.0, 80.0], root: false }
    }
}

/// Under the root: at two equal sets the root has no slope.
const EPSILON: f64 = 1e-8;

/// Real samples, and what of the loss depends on them alone.
#[derive(Debug)]
pub struct Target {
    /// `[n, width]`.
    samples: Tensor,
    /// Their squared lengths, `[n, 1]`.
    squares: Tensor,
    /// `mean k(x, x')`.
    own: Tensor,
    /// `1 / 2σ` of each kernel, where the samples are.
    rates: Tensor,
}

impl Mmd {
    /// Between `real`, `[n, width]`, and `fake`, `[m, width]`.
    pub fn loss(&self, real: &Tensor, fake: &Tensor) -> Tensor {
        let squared = self.mean_kernel(real, real) - self.mean_kernel(real, fake) * 2.0 + self.mean_kernel(fake, fake);
        if self.root { (squared.clamp_min(0.0) + EPSILON).sqrt() } else { squared }
    }

    fn mean_kernel(&self, a: &Tensor, b: &Tensor) -> Tensor {
        let distances = distances(a, &squares(a), b, &squares(b));
        let kernels = self.bandwidths.iter().map(|sigma| (&distances * (-0.5 / sigma)).exp().mean(None::<Kind>));
        kernels.sum()
    }

    /// Makes `real`, `[n, width]`, ready to be compared with many times.
    pub fn target(&self, real: &Tensor) -> Target {
        no_grad(|| {
            let own = self.mean_kernel(real, real);
            let rates: Vec<f32> = self.rates().map(|rate| rate as f32).collect();
            let rates = Tensor::from_slice(&rates).to_device(real.device());
            Target { samples: real.shallow_clone(), squares: squares(real), own, rates }
        })
    }

    /// The loss of `fake`, `[m, width]`, and its slope there, `[m, width]`.
    pub fn value_and_grad(&self, target: &Target, fake: &Tensor) -> (Tensor, Tensor) {
        let (kernels, slope) = self.kernels_and_grad(target, fake);
        (self.values(&[(target, fake.size()[0])]).of(&kernels.unsqueeze(0)).squeeze_dim(0), slope)
    }

    /// What [`Values`] makes the loss of, `[2]`, and its slope in `fake`, `[m, width]`.
    pub(crate) fn kernels_and_grad(&self, target: &Target, fake: &Tensor) -> (Tensor, Tensor) {
        no_grad(|| {
            let of_fake = squares(fake);
            let (n, m) = (target.samples.size()[0], fake.size()[0]);
            // Real and fake samples side by side, so that one product serves both sums.
            let others = Tensor::cat(&[&target.samples, fake], 0);
            let of_others = Tensor::cat(&[&target.squares, &of_fake], 0);
            let factors = [4.0 / (n as f64 * m as f64), -4.0 / (m as f64 * m as f64)];
            let single = fake.kind() == Kind::Float;
            let Weighed { weights, sums, kernels } = if single && has_kernels_on(fake.device()) {
                let weights = exact_product(fake, &others.tr());
                let rates = &target.rates;
                let sums = torch_shim::mmd_weigh(&weights, &of_fake, &of_others, rates, n, factors.into());
                let kernels = sums.narrow(0, 1, 2).sum_dim_intlist([1i64].as_slice(), false, Kind::Float);
                Weighed { sums: sums.get(0).unsqueeze(1), weights, kernels }
            } else if single && fake.device() == Device::Cpu {
                self.weigh_here(&exact_product(fake, &others.tr()), (&of_fake, &of_others), n, factors)
            } else {
                self.weigh(distances(fake, &of_fake, &others, &of_others), n, factors)
            };
            let slope = sums * fake - exact_product(&weights, &others);
            match self.root {
                true => {
                    let value = self.values(&[(target, m)]).of(&kernels.unsqueeze(0)).squeeze_dim(0);
                    let slope = slope / (value * 2.0).to_kind(fake.kind());
                    (kernels, slope)
                }
                false => (kernels, slope),
            }
        })
    }

    /// What takes sums of kernels to losses, for fake samples of which each target is compared with so many.
    pub(crate) fn values(&self, targets: &[(&Target, i64)]) -> Values {
        let own = Tensor::stack(&targets.iter().map(|(target, _)| &target.own).collect::<Vec<_>>(), 0);
        let factors = targets.iter().flat_map(|(target, m)| {
            let (n, m) = (target.samples.size()[0] as f64, *m as f64);
            [-2.0 / (n * m), 1.0 / (m * m)]
        });
        let factors = Tensor::from_slice(&factors.collect::<Vec<f64>>()).reshape([-1, 2]).to_device(own.device());
        Values { own, factors, root: self.root }
    }

    fn rates(&self) -> impl Iterator<Item = f64> {
        self.bandwidths.iter().map(|sigma| 0.5 / sigma)
    }

    /// Weighs pairs by their products `[rows, columns]` and squared lengths, on a CPU; the sides meet at column `split`.
    fn weigh_here(&self, products: &Tensor, lengths: (&Tensor, &Tensor), split: i64, factors: [f64; 2]) -> Weighed {
        let rates: Vec<f64> = self.rates().collect();
        let numbers = |tensor: &Tensor| {
            let mut numbers = vec![0.0f32; tensor.numel()];
            tensor.copy_data(&mut numbers, tensor.numel());
            numbers
        };
        let (mut values, of_rows, of_columns) = (numbers(products), numbers(lengths.0), numbers(lengths.1));
        let factors = factors.map(|factor| factor as f32);
        let sums = kernel::weigh(&mut values, (&of_rows, &of_columns), split as usize, factors, &rates);
        Weighed {
            weights: Tensor::from_slice(&values).reshape(products.size()),
            sums: Tensor::from_slice(&sums.rows).unsqueeze(1),
            kernels: Tensor::from_slice(&sums.kernels),
        }
    }

    /// Weighs squared distances `[rows, columns]`, anywhere and in any precision; the sides meet at column `split`.
    fn weigh(&self, distances: Tensor, split: i64, factors: [f64; 2]) -> Weighed {
        let columns = distances.size()[1];
        let mut kernels = Tensor::zeros_like(&distances);
        let mut weights = Tensor::zeros_like(&distances);
        for rate in self.rates() {
            let kernel = (&distances * -rate).exp_();
            weights += &kernel * rate;
            kernels += kernel;
        }
        let side = |tensor: &Tensor, from: i64, to: i64| tensor.narrow(1, from, to - from);
        let sums = [side(&kernels, 0, split), side(&kernels, split, columns)].map(|side| side.sum(None::<Kind>));
        let sums = Tensor::stack(&sums, 0);
        let _ = side(&weights, 0, split).g_mul_scalar_(factors[0]);
        let _ = side(&weights, split, columns).g_mul_scalar_(factors[1]);
        Weighed { sums: weights.sum_dim_intlist([1i64].as_slice(), true, None::<Kind>), weights, kernels: sums }
    }
}

/// Takes sums of kernels to losses.
#[derive(Debug)]
pub(crate) struct Values {
    /// `mean k(x, x')` of each target.
    own: Tensor,
    /// What the sums of `k(x, y)` and of `k(y, y')` are times, `[targets, 2]`, in double precision.
    factors: Tensor,
    root: bool,
}

impl Values {
    /// The losses, `[targets]`, of `kernels`, `[targets, 2]`.
    pub(crate) fn of(&self, kernels: &Tensor) -> Tensor {
        let means = (kernels * &self.factors).sum_dim_intlist([1i64].as_slice(), false, Kind::Double);
        let squared = &self.own + means;
        if self.root { (squared.clamp_min(0.0) + EPSILON).sqrt() } else { squared }
    }
}

/// Distances, weighed.
struct Weighed {
    /// `w` of each pair, times the factor of its side: `[rows, columns]`.
    weights: Tensor,
    /// Their sum in each row, `[rows, 1]`.
    sums: Tensor,
    /// The sums of `k` over both sides, `[2]`.
    kernels: Tensor,
}

/// The squared length of each row, `[rows, 1]`.
fn squares(rows: &Tensor) -> Tensor {
    rows.square().sum_dim_intlist([1i64].as_slice(), true, None::<Kind>)
}

/// `‖a − b‖²` for each row of `a` and of `b`, given their squared lengths.
fn distances(a: &Tensor, of_a: &Tensor, b: &Tensor, of_b: &Tensor) -> Tensor {
    // Rounding can leave a distance to oneself just below 0.
    (of_a + of_b.tr() - exact_product(a, &b.tr()) * 2.0).clamp_min(0.0)
}

/// `a · b` in full single precision: distances, and slopes near the minimum, are small differences of large numbers.
fn exact_product(a: &Tensor, b: &Tensor) -> Tensor {
    torch_shim::without_tf32(|| a.matmul(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{assert_close, assert_gradient_matches, golden, matrix};

    /// One bandwidth, σ = 2; x = {0}, y = {2}: k(0, 0) = k(2, 2) = 1, k(0, 2) = e^{−4/4}. 2 − 2/e.
    #[test]
    fn loss_by_hand() {
        let mmd = Mmd { bandwidths: vec![2.0], root: false };
        assert_close(&mmd.loss(&matrix([[0.0]]), &matrix([[2.0]])), 2.0 - 2.0 / 1f64.exp());
    }

    #[test]
    fn zero_on_itself_symmetric_and_positive() {
        let (a, b) = (matrix([[0.1, 0.9], [0.4, 0.2], [0.7, 0.7]]), matrix([[0.3, 0.3], [0.8, 0.1]]));
        let mmd = Mmd::default();
        assert_close(&mmd.loss(&a, &a), 0.0);
        let (there, back) = (mmd.loss(&a, &b), mmd.loss(&b, &a));
        assert_close(&(&there - back), 0.0);
        assert!(f64::try_from(there).expect("a number") > 1e-3);
    }

    #[test]
    fn gradient_matches_finite_differences() {
        let real = matrix([[0.1, 0.9], [0.4, 0.2]]);
        for root in [false, true] {
            let mmd = Mmd { root, ..Default::default() };
            assert_gradient_matches(&matrix([[0.3, 0.3], [0.8, 0.1]]), |fake| mmd.loss(&real, fake));
        }
    }

    /// The slope written down above is that of autograd, for as many fakes as real samples and for fewer.
    #[test]
    fn the_slope_is_autograds() {
        let real = matrix([[0.1, 0.9, 0.3], [0.4, 0.2, 0.8], [0.5, 0.5, 0.5]]);
        for rows in [2, 3] {
            for root in [false, true] {
                let mmd = Mmd { root, ..Default::default() };
                let fake = matrix([[0.3, 0.3, 0.1], [0.8, 0.1, 0.2], [0.0, 0.9, 0.4]]).narrow(0, 0, rows);
                let fake = fake.copy().set_requires_grad(true);
                let loss = mmd.loss(&real, &fake);
                loss.backward();
                let (value, slope) = mmd.value_and_grad(&mmd.target(&real), &fake);
                assert_close(&(value - loss), 0.0);
                assert_close(&(slope - fake.grad()).abs().max(), 0.0);
                // In single precision, by our own pass over the distances.
                let single = |tensor: &Tensor| tensor.detach().to_kind(Kind::Float);
                let (value, slope) = mmd.value_and_grad(&mmd.target(&single(&real)), &single(&fake));
                assert_eq!((slope.kind(), value.dim()), (Kind::Float, 0));
                assert_close(&(value - mmd.loss(&real, &fake)), 0.0);
                assert_close(&(slope - fake.grad()).abs().max(), 0.0);
            }
        }
    }

    #[test]
    fn where_nothing_has_moved() {
        let real = matrix([[0.1, 0.9], [0.4, 0.2]]);
        for root in [false, true] {
            let fake = real.copy().set_requires_grad(true);
            Mmd { root, ..Default::default() }.loss(&real, &fake).backward();
            let slopes = Vec::<f64>::try_from(fake.grad().flatten(0, -1)).expect("numbers");
            assert!(slopes.iter().all(|slope| slope.abs() < 1e-6), "{slopes:?}");
        }
    }

    #[test]
    fn golden_value_of_the_authors_function() {
        let golden = golden();
        let mmd = Mmd { root: true, ..Default::default() };
        let loss = mmd.loss(&golden.tensor("/mmd/real"), &golden.tensor("/mmd/fake"));
        assert_close(&loss, golden.number("/mmd/sqrt_loss"));
    }
}
