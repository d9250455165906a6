//! Runs of one recipe, whatever their seeds.

use crate::error::CompareError;
use crate::experiment::Record;
use std::path::Path;

/// Runs of one recipe.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// What its runs are called, without the seed.
    pub(super) name: String,
    recipe: String,
    /// By seed.
    pub(super) runs: Vec<(&'a str, &'a Record)>,
}

impl<'a> Group<'a> {
    /// The groups among these runs, in the order in which they come.
    pub(super) fn of(runs: &'a [(String, Record)]) -> Result<Vec<Self>, CompareError> {
        let mut groups: Vec<Self> = Vec::new();
        for (name, record) in runs {
            let (done, of) = (record.evaluations().count(), record.start.tasks.len());
            if done < of {
                return Err(CompareError::NotFinished { run: name.clone(), done, of });
            }
            if record.start.data != runs[0].1.start.data {
                return Err(CompareError::OtherData { one: runs[0].0.clone(), other: name.clone() });
            }
            let recipe = record.start.recipe_without_seed();
            let group = match groups.iter_mut().position(|group| group.recipe == recipe) {
                Some(index) => &mut groups[index],
                None => {
                    let name = free_name(&groups, model_name(name));
                    groups.push(Self { name, recipe, runs: Vec::new() });
                    groups.last_mut().expect("just pushed")
                }
            };
            let seed = record.start.seed;
            if let Some((one, _)) = group.runs.iter().find(|(_, other)| other.start.seed == seed) {
                return Err(CompareError::SameSeed { one: (*one).to_owned(), other: name.clone(), seed });
            }
            group.runs.push((name, record));
            group.runs.sort_by_key(|(_, record)| record.start.seed);
        }
        Ok(groups)
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

/// `runs/animals12-podnet-seed3` is a run of `animals12-podnet`.
fn model_name(run: &str) -> String {
    let name = Path::new(run).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let without = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match without.strip_suffix("-seed") {
        Some(model) if !model.is_empty() && without.len() < name.len() => model.to_owned(),
        _ => name,
    }
}

/// The name, with a number behind it where another model has it.
fn free_name(groups: &[Group<'_>], name: String) -> String {
    let taken = |name: &str| groups.iter().any(|group| group.name == name);
    if !taken(&name) {
        return name;
    }
    (2..).map(|number| format!("{name} ({number})")).find(|name| !taken(name)).expect("some number is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_called_as_their_runs_without_the_seed() {
        assert_eq!(model_name("runs/reproduce/animals12-podnet-seed3"), "animals12-podnet");
        assert_eq!(model_name("runs/demo/ghost"), "ghost");
        assert_eq!(model_name("runs/mine-2"), "mine-2");
        assert_eq!(model_name("-seed3"), "-seed3");
    }
}
