//! Randomness: one seed, and from it a named stream for each thing that draws.
//!
//! Streams are independent of each other and of the order in which they are asked for. So a stage that is left out, or
//! a run that resumes, does not shift what the others draw.

use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;

/// A stream of random numbers. ChaCha8 gives the same numbers on every machine.
pub type Stream = ChaCha8Rng;

/// The one seed of a run.
///
/// ```
/// use prescient::seeds::Seeds;
/// use rand::RngExt;
///
/// let draw = |name, task| -> u64 { Seeds::new(1).stream(name, task).random() };
/// assert_eq!(draw("herding", 2), draw("herding", 2));
/// assert_ne!(draw("herding", 2), draw("herding", 3));
/// assert_ne!(draw("herding", 2), draw("order", 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds(u64);

impl Seeds {
    /// The streams of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream called `name`, for the `index`-th time it is needed (most often the task).
    pub fn stream(self, name: &str, index: usize) -> Stream {
        self.child(name, index).stream_here()
    }

    /// Seeds below these, for what needs many streams itself (an epoch, an image).
    pub fn child(self, name: &str, index: usize) -> Seeds {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0.to_le_bytes());
        hasher.update(&(index as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        Seeds(first_eight(hasher.finalize().as_bytes()))
    }

    /// A number for engines that keep their own generator, such as libtorch's for the first weights.
    pub fn number(self, name: &str, index: usize) -> i64 {
        // Shifted: libtorch takes a signed number.
        (self.child(name, index).0 >> 1) as i64
    }

    fn stream_here(self) -> Stream {
        ChaCha8Rng::seed_from_u64(self.0)
    }
}

/// At most `count` of the places `0..all`, in order: all of them where there are no more, else drawn without replacement.
///
/// ```
/// use prescient::seeds::{Seeds, picked};
///
/// let mut stream = Seeds::new(1).stream("features", 0);
/// assert_eq!(picked(3, 5, &mut stream), [0, 1, 2]);
/// assert_eq!(picked(1000, 5, &mut stream).len(), 5);
/// ```
pub fn picked(all: usize, count: usize, stream: &mut Stream) -> Vec<usize> {
    let mut places = match all > count {
        true => index::sample(stream, all, count).into_vec(),
        false => (0..all).collect(),
    };
    places.sort_unstable();
    places
}

fn first_eight(bytes: &[u8; 32]) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(eight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    fn draws(mut stream: Stream) -> Vec<u64> {
        (0..4).map(|_| stream.random()).collect()
    }

    #[test]
    fn the_same_name_draws_the_same_numbers() {
        assert_eq!(draws(Seeds::new(1).stream("herding", 2)), draws(Seeds::new(1).stream("herding", 2)));
    }

    #[test]
    fn another_seed_name_or_index_draws_others() {
        let one = draws(Seeds::new(1).stream("herding", 2));
        for other in
            [Seeds::new(2).stream("herding", 2), Seeds::new(1).stream("order", 2), Seeds::new(1).stream("herding", 3)]
        {
            assert_ne!(one, draws(other));
        }
    }

    /// All where there are few; else as many as asked for, each once, in order, the same for the same seed.
    #[test]
    fn places_are_drawn_by_seed_and_not_taken_from_the_front() {
        let pick = |all, seed| picked(all, 5, &mut Seeds::new(seed).stream("x", 0));
        assert_eq!(pick(3, 1), [0, 1, 2]);
        let found = pick(1000, 1);
        assert!(found.len() == 5 && found.is_sorted_by(|a, b| a < b));
        assert_eq!(found, pick(1000, 1));
        assert!(found != [0, 1, 2, 3, 4] && found != pick(1000, 2));
    }

    /// The first number of a stream, written down: a record must mean the same next year.
    #[test]
    fn streams_stay_what_they_were() {
        let first: u64 = Seeds::new(1).stream("herding", 1).random();
        assert_eq!(first, 16_010_653_775_145_320_360);
    }
}
