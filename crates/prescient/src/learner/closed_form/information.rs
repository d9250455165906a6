//! What is known of each class in advance, as likenesses between classes.

use crate::catalogue::Catalogue;
use std::collections::HashMap;
use tch::{Kind, Tensor};

/// Added to every likeness: what all classes have in common is predicted with little resistance.
pub(super) const COMMON: f64 = 10.0;

/// What is known of each class, source by source.
#[derive(Debug)]
pub struct Information {
    names: Vec<String>,
    places: HashMap<String, i64>,
    sources: Vec<Source>,
}

#[derive(Debug)]
struct Source {
    name: String,
    /// `[classes, numbers]`.
    rows: Tensor,
}

/// Likenesses between classes.
pub(super) struct Likenesses {
    /// Of classes with photos, `[seen, seen]`.
    pub(super) seen: Tensor,
    /// Of classes without photos to those with, `[unseen, seen]`.
    pub(super) unseen: Tensor,
}

impl Information {
    /// What a catalogue has.
    pub fn new(catalogue: &Catalogue) -> Self {
        let names = catalogue.names().to_vec();
        let values: Vec<f32> = catalogue.rows().flat_map(|(_, row)| row.iter().copied()).collect();
        let width = catalogue.attribute_names().len() as i64;
        let all = Tensor::from_slice(&values).to_kind(Kind::Double).reshape([names.len() as i64, width]);
        let source = |block: &crate::catalogue::Block| Source {
            name: block.name.clone(),
            rows: all.narrow(1, block.columns.start as i64, block.columns.len() as i64).copy(),
        };
        let sources = catalogue.blocks().iter().filter(|block| !block.columns.is_empty()).map(source).collect();
        let places = names.iter().enumerate().map(|(place, name)| (name.clone(), place as i64)).collect();
        Self { names, places, sources }
    }

    /// All classes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the sources.
    pub fn sources(&self) -> Vec<&str> {
        self.sources.iter().map(|source| source.name.as_str()).collect()
    }

    /// Whether nothing is known but names.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The same, with one source alone.
    pub(super) fn only(&self, source: usize) -> Self {
        let Source { name, rows } = &self.sources[source];
        let source = Source { name: name.clone(), rows: rows.shallow_clone() };
        Self { names: self.names.clone(), places: self.places.clone(), sources: vec![source] }
    }

    /// Likenesses of the classes `seen` and `unseen`: the mean over all sources.
    pub(super) fn likenesses(&self, seen: &[&str], unseen: &[&str]) -> Likenesses {
        let place = |name: &&str| self.places[*name];
        let places = |names: &[&str]| Tensor::from_slice(&names.iter().map(place).collect::<Vec<_>>());
        let (seen_places, unseen_places) = (places(seen), places(unseen));
        let options = (Kind::Double, tch::Device::Cpu);
        let (count, others) = (seen.len() as i64, unseen.len() as i64);
        let mut likenesses = Likenesses {
            seen: Tensor::full([count, count], COMMON, options),
            unseen: Tensor::full([others, count], COMMON, options),
        };
        let share = 1.0 / self.sources.len() as f64;
        for source in &self.sources {
            // All that is described, for descriptions are known in advance.
            let mean = source.rows.mean_dim([0i64].as_slice(), true, Kind::Double);
            let deviation = (&source.rows - &mean).square().mean_dim([0i64].as_slice(), true, Kind::Double).sqrt();
            // What is the same for all classes says nothing.
            let scale = deviation.gt(1e-9).to_kind(Kind::Double) / deviation.clamp_min(1e-9);
            let scaled = |rows: &Tensor| {
                let rows = (rows - &mean) * &scale;
                let length = rows.square().sum_dim_intlist([1i64].as_slice(), true, Kind::Double).sqrt();
                rows / length.clamp_min(1e-12)
            };
            let scaled = |places: &Tensor| scaled(&source.rows.index_select(0, places));
            let (known, unknown) = (scaled(&seen_places), scaled(&unseen_places));
            likenesses.seen += known.matmul(&known.tr()) * share;
            likenesses.unseen += unknown.matmul(&known.tr()) * share;
        }
        likenesses
    }
}
