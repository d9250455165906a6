//! How much of which pixels goes into each pixel of the result, along one side.

/// The bits of a weight after the point: one itself still fits into 16 signed bits.
pub(crate) const BITS: u32 = 14;
const ONE: f64 = (1 << BITS) as f64;

/// The weights of one side: `taps` for each place of the result, for the pixels from its `first` on.
#[derive(Default)]
pub(crate) struct Weights {
    /// The first pixel that any place needs.
    pub(crate) start: usize,
    /// One more than the last.
    pub(crate) end: usize,
    /// The first pixel of each place, counted from `start`.
    pub(crate) first: Vec<u32>,
    /// As many weights for each, some of them 0.
    pub(crate) taps: usize,
    /// Whole numbers, which add up to `1 << BITS` for each place.
    pub(crate) weights: Vec<i16>,
}

impl Weights {
    /// For the window from `start` over `extent`, of a side of `pixels` pixels, scaled to `size`; back to front if
    /// mirrored.
    pub(crate) fn fill(&mut self, pixels: u32, start: f64, extent: f64, size: u32, mirrored: bool) {
        let scale = extent / f64::from(size);
        // A reduction needs every pixel it covers; an enlargement the two beside its place.
        let reach = scale.max(1.0);
        let taps = ((2.0 * reach).ceil() as u32).min(pixels);
        self.taps = taps as usize;
        self.first.clear();
        self.weights.clear();
        let last = pixels - taps;
        for place in 0..size {
            let place = if mirrored { size - 1 - place } else { place };
            let center = start + (f64::from(place) + 0.5) * scale;
            // By way of a signed number, which the processor has an instruction for.
            let first = (((center - reach + 0.5) as i32).max(0) as u32).min(last);
            self.first.push(first);
            if taps == 2 && scale <= 1.0 {
                // Beyond the edge there is no second pixel, and it has no weight.
                let second = ((center - 0.5 - f64::from(first)).clamp(0.0, 1.0) * ONE + 0.5) as i16;
                self.weights.extend([ONE as i16 - second, second]);
            } else {
                self.push_triangle(f64::from(first) + 0.5 - center, reach);
            }
        }
        let (one, other) = (self.first[0], self.first[size as usize - 1]);
        let start = one.min(other);
        (self.start, self.end) = (start as usize, (one.max(other) + taps) as usize);
        self.first.iter_mut().for_each(|first| *first -= start);
    }

    /// A triangle around 0 that reaches `reach` each way, for pixels from `offset` on. Their running sum is what is
    /// rounded: so the weights add up to one, and what rounding takes from a pixel it gives to its neighbour.
    fn push_triangle(&mut self, offset: f64, reach: f64) {
        let slope = 1.0 / reach;
        let weight = |tap: usize| (1.0 - (f64::from(tap as u32) + offset).abs() * slope).max(0.0);
        let sum: f64 = (0..self.taps).map(weight).sum();
        let (mut running, mut before, scale) = (0.0, 0, ONE / sum);
        for tap in 0..self.taps {
            running += weight(tap);
            let until = (running * scale + 0.5) as i16;
            self.weights.push(until - before);
            before = until;
        }
    }

    /// The first pixel of each place, and its weights.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, &[i16])> {
        self.first.iter().map(|first| *first as usize).zip(self.weights.chunks_exact(self.taps))
    }
}
