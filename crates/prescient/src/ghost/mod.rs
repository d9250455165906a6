//! What is imagined of the future: generators of features, and the planes that keep room for them.

pub mod generator;
pub mod svm;

pub use generator::{FeatureBank, Gaussian, Generator, GeneratorKind, Gmmn, Scaler};
