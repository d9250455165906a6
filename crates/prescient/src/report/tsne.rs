//! t-SNE: features of many dimensions as points in a plane, near where they were near.
//!
//! The crate `bhtsne` does it. Two things of it depend on chance, and a report must not: its search for neighbours picks
//! vantage points at random, and its sums are split among threads as these have time. So the neighbours are found here,
//! exactly, and each embedding runs on one thread, from first places that the seed gives (ADR 14).

use crate::seeds::Stream;
use bhtsne::{Neighbor, tSNE};
use rand::RngExt;
use rayon::prelude::*;

/// How many neighbours a point looks at, roughly.
const PERPLEXITY: f32 = 30.0;
const EPOCHS: usize = 500;
/// How far the approximation of far points may go.
const THETA: f32 = 0.5;

/// Places for `rows` of `width` numbers each, by direction alone; none where they are too few, or all in one place.
pub(super) fn embed(rows: &[f32], width: usize, mut stream: Stream) -> Option<Vec<[f64; 2]>> {
    let units: Vec<Vec<f32>> = rows.chunks_exact(width.max(1)).map(unit).collect();
    let perplexity = PERPLEXITY.min((units.len() as f32 - 1.0) / 3.0).floor();
    if perplexity < 2.0 || units.iter().all(|row| row == &units[0]) {
        return None;
    }
    let first: Vec<f32> = (0..2 * units.len()).map(|_| stream.random_range(-1e-4..1e-4)).collect();
    let neighbours = neighbours(&units, 3 * perplexity as usize);
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()?;
    let places = one_thread.install(|| {
        let mut tsne: tSNE<'_, f32, Vec<f32>> = tSNE::new(&units);
        tsne.perplexity(perplexity).epochs(EPOCHS).initial_embedding(first);
        tsne.barnes_hut_with_neighbors(THETA, &neighbours);
        tsne.embedding()
    });
    let places: Vec<[f64; 2]> = places.chunks_exact(2).map(|at| [f64::from(at[0]), f64::from(at[1])]).collect();
    places.iter().flatten().all(|place| place.is_finite()).then_some(places)
}

/// A row of length 1; the classifier sees directions only.
fn unit(row: &[f32]) -> Vec<f32> {
    let length = dot(row, row).sqrt().max(1e-12);
    row.iter().map(|value| value / length).collect()
}

/// The `count` nearest of each row, nearest first; a tie goes to the first.
fn neighbours(units: &[Vec<f32>], count: usize) -> Vec<Vec<Neighbor<f32>>> {
    let nearer = |a: &(f32, usize), b: &(f32, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    let of_row = |place: usize| {
        let others = (0..units.len()).filter(|other| *other != place);
        let mut all: Vec<(f32, usize)> =
            others.map(|other| ((2.0 - 2.0 * dot(&units[place], &units[other])).max(0.0), other)).collect();
        all.select_nth_unstable_by(count - 1, nearer);
        all.truncate(count);
        all.sort_unstable_by(nearer);
        all.into_iter().map(|(square, index)| Neighbor { index, distance: square.sqrt() }).collect()
    };
    (0..units.len()).into_par_iter().map(of_row).collect()
}

/// In eight lanes: the compiler makes vector instructions of them, and the order of the sum is fixed.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut lanes = [0.0f32; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    lanes.iter().sum::<f32>() + rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Seeds;

    /// Three bundles of directions in 12 dimensions, 20 rows each.
    fn bundles() -> Vec<f32> {
        let mut stream = Seeds::new(3).stream("bundles", 0);
        let row = |bundle: usize, stream: &mut Stream| -> Vec<f32> {
            (0..12).map(|i| if i / 4 == bundle { 1.0 } else { 0.0 } + stream.random_range(-0.2..0.2)).collect()
        };
        (0..60).flat_map(|index| row(index / 20, &mut stream)).collect()
    }

    #[test]
    fn the_same_rows_and_seed_give_the_same_places() {
        let places = || embed(&bundles(), 12, Seeds::new(1).stream("t-sne", 1)).expect("places");
        assert_eq!(places(), places());
        assert_ne!(Some(places()), embed(&bundles(), 12, Seeds::new(2).stream("t-sne", 1)));
    }

    #[test]
    fn what_was_near_stays_near() {
        let places = embed(&bundles(), 12, Seeds::new(1).stream("t-sne", 1)).expect("places");
        let distance = |a: usize, b: usize| {
            let [x, y] = [places[a][0] - places[b][0], places[a][1] - places[b][1]];
            (x * x + y * y).sqrt()
        };
        for row in 0..60 {
            let nearest =
                (0..60).filter(|other| *other != row).min_by(|a, b| distance(row, *a).total_cmp(&distance(row, *b)));
            assert_eq!(nearest.map(|nearest| nearest / 20), Some(row / 20), "row {row}");
        }
    }

    #[test]
    fn too_few_rows_or_only_one_place_cannot_be_drawn() {
        assert_eq!(embed(&[1.0, 0.0, 0.0, 1.0], 2, Seeds::new(1).stream("t-sne", 1)), None);
        assert_eq!(embed(&[1.0; 200], 4, Seeds::new(1).stream("t-sne", 1)), None);
        assert_eq!(embed(&[], 0, Seeds::new(1).stream("t-sne", 1)), None);
    }

    /// (1, 0) is nearest to (0.8, 0.6): the square of the distance is 2 − 2 · 0.8.
    #[test]
    fn neighbours_by_hand() {
        let units = vec![vec![1.0, 0.0], vec![-1.0, 0.0], vec![0.8, 0.6]];
        let found = &neighbours(&units, 2)[0];
        assert_eq!((found[0].index, found[1].index), (2, 1));
        assert!((found[0].distance - 0.4f32.sqrt()).abs() < 1e-6 && (found[1].distance - 2.0).abs() < 1e-6);
    }
}
