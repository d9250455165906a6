//! `Σ h·hᵀ` over many features, of which only what lies above the diagonal is multiplied.

use std::ops::{AddAssign, SubAssign};
use tch::{Device, Kind, Tensor, no_grad};

/// Rows of a band: fewer would multiply less below the diagonal, but each less quickly.
const BAND: usize = 128;

/// A symmetric sum of products, `[width, width]`, in bands: rows `from` to `from + BAND`, columns `from` to the last.
#[derive(Debug)]
pub(super) struct Products {
    width: usize,
    bands: Vec<Tensor>,
}

impl Products {
    /// Of nothing yet.
    pub(super) fn new(width: usize) -> Self {
        let band = |from: usize| {
            let shape = [BAND.min(width - from) as i64, (width - from) as i64];
            Tensor::zeros(shape, (Kind::Double, Device::Cpu))
        };
        Self { width, bands: (0..width).step_by(BAND).map(band).collect() }
    }

    /// From the whole matrix, which must be symmetric.
    pub(super) fn from_whole(matrix: &Tensor) -> Self {
        let mut products = Self::new(matrix.size()[0] as usize);
        for (from, band) in products.each() {
            let [rows, columns] = [0, 1].map(|side| band.size()[side]);
            band.copy_(&matrix.narrow(0, from, rows).narrow(1, from, columns));
        }
        products
    }

    /// Adds the products of `rows`, `[rows, width]` in double precision.
    pub(super) fn add(&mut self, rows: &Tensor) {
        no_grad(|| {
            for (from, band) in self.each() {
                let [count, columns] = [0, 1].map(|side| band.size()[side]);
                let _ = band.addmm_(&rows.narrow(1, from, count).tr(), &rows.narrow(1, from, columns));
            }
        });
    }

    /// The whole matrix, symmetric to the last bit.
    pub(super) fn whole(&self) -> Tensor {
        let width = self.width as i64;
        let above = Tensor::zeros([width, width], (Kind::Double, Device::Cpu));
        for (from, band) in (0..).step_by(BAND).zip(&self.bands) {
            let [rows, columns] = [0, 1].map(|side| band.size()[side]);
            above.narrow(0, from, rows).narrow(1, from, columns).copy_(band);
        }
        let above = above.triu(0);
        &above + above.triu(1).tr()
    }

    /// The same once more, to be changed by itself.
    pub(super) fn copied(&self) -> Self {
        Self { width: self.width, bands: self.bands.iter().map(Tensor::copy).collect() }
    }

    fn each(&mut self) -> impl Iterator<Item = (i64, &mut Tensor)> {
        (0..).step_by(BAND).zip(&mut self.bands)
    }
}

impl AddAssign<&Products> for Products {
    fn add_assign(&mut self, more: &Products) {
        self.bands.iter_mut().zip(&more.bands).for_each(|(band, more)| *band += more);
    }
}

impl SubAssign<&Products> for Products {
    fn sub_assign(&mut self, less: &Products) {
        self.bands.iter_mut().zip(&less.bands).for_each(|(band, less)| *band -= less);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 300 columns, so in three bands, the last one narrower.
    #[test]
    fn products_in_bands_are_the_whole_ones() {
        let rows = Tensor::randn([7, 300], (Kind::Double, Device::Cpu));
        let (first, second) = (rows.narrow(0, 0, 4), rows.narrow(0, 4, 3));
        let mut products = Products::new(300);
        products.add(&first);
        products.add(&second);
        let whole = products.whole();
        assert!((&whole - rows.tr().matmul(&rows)).abs().max().double_value(&[]) < 1e-12);
        assert!(whole.equal(&whole.tr()));
        assert!(Products::from_whole(&whole).whole().equal(&whole));

        let mut of_second = Products::new(300);
        of_second.add(&second);
        products -= &of_second;
        assert!((products.whole() - first.tr().matmul(&first)).abs().max().double_value(&[]) < 1e-12);
        products += &of_second;
        assert!((products.copied().whole() - whole).abs().max().double_value(&[]) < 1e-12);
    }
}
