//! Runs of one recipe, whatever their seeds.

use crate::error::CompareError;
use crate::experiment::Record;
use crate::report::kinds::kinds;

/// Runs of one recipe.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// What its runs are called, without the seed.
    pub(super) name: String,
    /// By seed.
    pub(super) runs: Vec<(&'a str, &'a Record)>,
}

impl<'a> Group<'a> {
    /// The groups among these runs, in the order in which they come.
    pub(super) fn of(runs: &'a [(String, Record)]) -> Result<Vec<Self>, CompareError> {
        for (name, record) in runs {
            let (done, of) = (record.evaluations().count(), record.start.tasks.len());
            if done < of {
                return Err(CompareError::NotFinished { run: name.clone(), done, of });
            }
            if !record.start.same_tests(&runs[0].1.start) {
                return Err(CompareError::OtherData { one: runs[0].0.clone(), other: name.clone() });
            }
        }
        let group = |(name, runs): (String, Vec<&'a (String, Record)>)| {
            if let Some(pair) = runs.windows(2).find(|pair| pair[0].1.start.seed == pair[1].1.start.seed) {
                let (one, other, seed) = (pair[0].0.clone(), pair[1].0.clone(), pair[0].1.start.seed);
                return Err(CompareError::SameSeed { one, other, seed });
            }
            Ok(Self { name, runs: runs.into_iter().map(|(name, record)| (name.as_str(), record)).collect() })
        };
        kinds(runs, |(name, record)| (name, &record.start)).into_iter().map(group).collect()
    }

    /// Whether the run of that name is among them.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.runs.iter().any(|(run, _)| *run == name)
    }

    /// Why its numbers are no results, where they are none.
    pub(super) fn stamp(&self) -> Option<String> {
        self.runs[0].1.start.stamp()
    }

    pub(super) fn seeds(&self) -> Vec<u32> {
        self.runs.iter().map(|(_, record)| record.start.seed).collect()
    }

    /// Whether both learn the same classes in the same tasks.
    pub(super) fn same_tasks(&self, other: &Self) -> bool {
        let tasks = |group: &Self| (group.runs[0].1.start.tasks.clone(), group.runs[0].1.start.classes.clone());
        tasks(self) == tasks(other)
    }

    /// Runs of the same seed.
    pub(super) fn pairs(&self, other: &Self) -> Vec<(&'a Record, &'a Record)> {
        let twin = |seed: u32| other.runs.iter().find(|(_, record)| record.start.seed == seed);
        self.runs.iter().filter_map(|(_, mine)| Some((*mine, twin(mine.start.seed)?.1))).collect()
    }
}
