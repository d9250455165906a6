//! Several starts of the first task: the one with the lowest loss is kept, and nothing is left of the others but their losses.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_audited, bytes, small_recipe};
use prescient::experiment::record::{Epoch, Line};
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::ghost::GeneratorKind;
use prescient::ghost::generator::Gmmn;
use prescient::learner::Silent;
use std::path::Path;
use tch::Device;

/// Ghosts from the first task on, drawn anew by a `g` that catches up, and promoted.
fn ghost_recipe(generator: GeneratorKind) -> Recipe {
    let mut recipe = small_recipe();
    recipe.complete.epochs = 3;
    recipe.ghosts.per_class = 20;
    recipe.ghosts.refresh_epochs = 1;
    recipe.ghosts.init_from_ghosts = true;
    recipe.ghosts.generator = generator;
    recipe
}

fn gmmn() -> GeneratorKind {
    GeneratorKind::Gmmn(Gmmn { epochs: 5, lr: 1e-3, hidden: 32, ..Default::default() })
}

fn run(mut recipe: Recipe, seed: u32, tries: usize, out: &Path) -> Record {
    recipe.seed = seed;
    recipe.train.restarts = tries;
    Experiment::new(recipe, Device::Cpu).unwrap().run(out, Some(1), &mut Silent).unwrap()
}

/// What was told of the epochs of a stage.
fn epochs<'a>(record: &'a Record, stage: &str) -> Vec<&'a Epoch> {
    record.epochs().filter(|epoch| epoch.stage == stage).collect()
}

/// Task and number of each.
fn numbers(epochs: &[&Epoch]) -> Vec<(usize, usize)> {
    epochs.iter().map(|epoch| (epoch.task, epoch.epoch)).collect()
}

/// Which of the tries, of two epochs each, ended with the lowest loss, from 0; of one, that one.
fn lowest(record: &Record) -> usize {
    let tried = epochs(record, "restart");
    let ends: Vec<f64> = tried.chunks(2).map(|epochs| epochs[1].terms.values().sum()).collect();
    (0..ends.len()).min_by(|&a, &b| ends[a].total_cmp(&ends[b])).unwrap_or(0)
}

/// All that is told, but for the tries and the recipe, which differ.
fn told_otherwise(record: &Record) -> Vec<&Line> {
    // Digests are also of the lines before them.
    let beside = |line: &&Line| match line {
        Line::Epoch(epoch) => epoch.stage != "restart",
        Line::Digests(_) => false,
        _ => true,
    };
    record.lines.iter().filter(beside).collect()
}

/// One, two and three tries. Where the same try was best, two runs of a seed have the same weights after task 1, those of `g` and the
/// places promised to ghosts among them, and have told the same beside the tries; where another was, they have not.
#[test]
fn the_try_with_the_lowest_loss_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for (name, recipe, seeds) in [("base", small_recipe(), 10), ("ghost", ghost_recipe(gmmn()), 8)] {
        let mut best = [0; 3];
        for seed in 1..=seeds {
            let runs = [1, 2, 3].map(|tries| {
                let out = folder.path().join(format!("{name}-{seed}-{tries}"));
                let record = run(recipe.clone(), seed, tries, &out);
                let weights = std::fs::read(out.join("tasks/01/weights.safetensors")).unwrap();
                (lowest(&record), weights, record)
            });
            for (tries, (kept, weights, record)) in (1..).zip(&runs) {
                let which = format!("{name}, seed {seed}, {tries} tries");
                let tried = epochs(record, "restart");
                let all = if tries == 1 { 0 } else { 2 * tries };
                assert_eq!(numbers(&tried), (1..=all).map(|epoch| (1, epoch)).collect::<Vec<_>>(), "{which}");
                for (tried, trained) in tried.iter().skip(2 * kept).zip(epochs(record, "train")) {
                    assert_eq!((&tried.terms, tried.epoch), (&trained.terms, 2 * kept + trained.epoch), "{which}");
                }
                for (other, others, another) in &runs {
                    assert_eq!(kept == other, weights == others, "{which}: {kept} and {other}");
                    assert_eq!(kept == other, told_otherwise(record) == told_otherwise(another), "{which}");
                }
            }
            best[runs[2].0] += 1;
        }
        assert!(best.iter().all(|&times| times > 0), "{name}: each of three is best for some seed: {best:?}");
    }
}

/// The run goes on from the try that was kept, also after a stop, and its later tasks have no tries. What `g` said as it caught up is
/// told of that try alone.
#[test]
fn tries_of_the_ghost_model_resume() {
    let folder = tempfile::tempdir().unwrap();
    for (name, generator) in [("gmmn", gmmn()), ("real", GeneratorKind::Real)] {
        let mut recipe = ghost_recipe(generator);
        recipe.train.restarts = 3;
        let [whole, parts] = ["whole", "parts"].map(|part| folder.path().join(format!("{name}-{part}")));
        let record = common::run(recipe.clone(), &whole);
        assert_eq!(numbers(&epochs(&record, "restart")), (1..=6).map(|epoch| (1, epoch)).collect::<Vec<_>>(), "{name}");
        let caught_up = if name == "gmmn" { vec![(1, 0), (1, 1), (2, 1)] } else { vec![] };
        assert_eq!(numbers(&epochs(&record, "refresh")), caught_up, "{name}");
        assert_audited(&whole, false);

        run(recipe.clone(), recipe.seed, 3, &parts);
        Experiment::resume(&parts, Device::Cpu, None, &mut Silent).unwrap();
        assert!(bytes(&whole) == bytes(&parts), "{name}: the resumed run gave another record");
    }
}
