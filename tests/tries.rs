//! Several tries of the first task: the one with the lowest loss goes on, and nothing is left of the others but what they said.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_audited, bytes, small_recipe};
use prescient::experiment::record::{Epoch, Line};
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::learner::Silent;
use prescient::model::GeneratorKind;
use std::path::Path;
use tch::Device;

fn first_task(recipe: Recipe, out: &Path) -> Record {
    Experiment::new(recipe, Device::Cpu).unwrap().run(out, Some(1), &mut Silent).unwrap()
}

/// The epochs of a stage: task, epoch, and what was minimized.
fn losses(record: &Record, stage: &str) -> Vec<(usize, usize, f64)> {
    let epochs = record.lines.iter().filter_map(|line| match line {
        Line::Epoch(Epoch { task, stage: name, epoch, terms, .. }) if name == stage => {
            Some((*task, *epoch, terms.values().sum()))
        }
        _ => None,
    });
    epochs.collect()
}

/// Which of the tries, of two epochs each, ended with the lowest loss: from 0.
fn lowest(record: &Record) -> usize {
    let ends: Vec<f64> = losses(record, "try").chunks(2).map(|epochs| epochs[1].2).collect();
    (0..ends.len()).min_by(|&a, &b| ends[a].total_cmp(&ends[b])).unwrap()
}

/// One, two and three tries from ten seeds. The model that goes on is the one with the lowest loss: two runs of a seed have the
/// same weights after task 1 where the same try was best, and others where another was.
#[test]
fn the_try_with_the_lowest_loss_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut best = [0; 3];
    for seed in 1..=10 {
        let runs = [1, 2, 3].map(|tries| {
            let mut recipe = Recipe { seed, ..small_recipe() };
            recipe.train.tries = tries;
            let out = folder.path().join(format!("{seed}-{tries}"));
            let record = first_task(recipe, &out);
            let weights = std::fs::read(out.join("tasks/01/weights.safetensors")).unwrap();
            let kept = if tries == 1 { 0 } else { lowest(&record) };
            (kept, weights, record)
        });
        for (tries, (kept, weights, record)) in (1..).zip(&runs) {
            let (tried, trained) = (losses(record, "try"), losses(record, "train"));
            let numbers: Vec<_> = tried.iter().map(|&(task, epoch, _)| (task, epoch)).collect();
            let expected = if tries == 1 { vec![] } else { (1..=2 * tries).map(|epoch| (1, epoch)).collect() };
            assert_eq!(numbers, expected, "seed {seed}, {tries} tries");
            if tries > 1 {
                assert_eq!(tried[..2], losses(&runs[0].2, "train"), "the first is the training without others");
                let ended: Vec<_> =
                    tried[2 * kept..][..2].iter().map(|&(task, epoch, loss)| (task, epoch - 2 * kept, loss)).collect();
                assert_eq!(trained, ended, "seed {seed}, {tries} tries");
            }
            for (other, others, _) in &runs {
                assert_eq!(kept == other, weights == others, "seed {seed}, {tries} tries: {kept} and {other}");
            }
        }
        best[runs[2].0] += 1;
    }
    assert!(best.iter().all(|&times| times > 0), "each of three is best for some seed: {best:?}");
}

/// Ghosts in the first task, and a `g` that catches up: those of the try that is kept are told, audited and resumed. Later tasks
/// have no tries.
#[test]
fn tries_of_the_ghost_model_resume() {
    let folder = tempfile::tempdir().unwrap();
    let gmmn = prescient::model::generator::Gmmn { epochs: 5, lr: 1e-3, hidden: 32, ..Default::default() };
    for (name, generator) in [("gmmn", GeneratorKind::Gmmn(gmmn)), ("real", GeneratorKind::Real)] {
        let mut recipe = small_recipe();
        recipe.train.tries = 3;
        recipe.complete.epochs = 3;
        recipe.ghosts.per_class = 20;
        recipe.ghosts.first = true;
        recipe.ghosts.refresh = 1;
        recipe.ghosts.promote = true;
        recipe.ghosts.generator = generator;
        let [whole, parts] = ["whole", "parts"].map(|part| folder.path().join(format!("{name}-{part}")));
        let record = common::run(recipe.clone(), &whole);
        let tried: Vec<_> = losses(&record, "try").iter().map(|&(task, epoch, _)| (task, epoch)).collect();
        assert_eq!(tried, (1..=6).map(|epoch| (1, epoch)).collect::<Vec<_>>(), "{name}");
        let caught_up: Vec<_> = losses(&record, "catch-up").iter().map(|&(task, epoch, _)| (task, epoch)).collect();
        assert_eq!(caught_up, if name == "gmmn" { vec![(1, 0), (1, 1), (2, 1)] } else { vec![] }, "{name}");
        assert_audited(&whole, false);

        first_task(recipe, &parts);
        Experiment::resume(&parts, Device::Cpu, None, &mut Silent).unwrap();
        assert!(bytes(&whole) == bytes(&parts), "{name}: the resumed run gave another record");
    }
}
