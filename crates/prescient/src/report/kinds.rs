//! Which runs are of one kind, for their recipes differ in the seed alone; and what people would call it.

use crate::experiment::record::Start;
use std::path::Path;

/// The kinds among `runs`, in the order in which they are first met: what each is called, and its runs by seed. `of` says
/// where the folder of a run is and how its record starts.
pub(super) fn kinds<'a, T>(runs: &'a [T], of: impl Fn(&'a T) -> (&'a str, &'a Start)) -> Vec<(String, Vec<&'a T>)> {
    let mut kinds: Vec<(String, Vec<&T>)> = Vec::new();
    for run in runs {
        let recipe = of(run).1.recipe_without_seed();
        match kinds.iter_mut().find(|(known, _)| *known == recipe) {
            Some((_, runs)) => runs.push(run),
            None => kinds.push((recipe, vec![run])),
        }
    }
    let mut named: Vec<(String, Vec<&T>)> = Vec::new();
    for (_, mut runs) in kinds {
        runs.sort_by_key(|run| of(run).1.seed);
        let folders: Vec<(String, u32)> = runs.iter().map(|run| (last_part(of(run).0), of(run).1.seed)).collect();
        let name = free(shared_name(&folders), |name| named.iter().any(|(known, _)| known == name));
        named.push((name, runs));
    }
    named
}

/// `ghost` of `runs/demo/ghost`.
fn last_part(path: &str) -> String {
    Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What the runs in these folders, of these seeds, are called: `mine` of `mine-seed1` and `mine-2`. Where folders differ in
/// more than their seeds, as the first one is.
fn shared_name(folders: &[(String, u32)]) -> String {
    let name = without_seed(&folders[0].0, folders[0].1);
    match folders.iter().all(|(folder, seed)| without_seed(folder, *seed) == name) {
        true => name,
        false => folders[0].0.clone(),
    }
}

/// `mine` of `mine-seed3`, `mine_3` or `mine.seed3`, for a run of seed 3.
fn without_seed(folder: &str, seed: u32) -> String {
    let separators = ['-', '_', '.', ' '];
    let name = folder.strip_suffix(&seed.to_string()).map(|name| name.strip_suffix("seed").unwrap_or(name));
    match name.and_then(|name| name.strip_suffix(separators)).map(|name| name.trim_end_matches(separators)) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => folder.to_owned(),
    }
}

/// The name, with a number behind it where another kind has it.
fn free(name: String, taken: impl Fn(&str) -> bool) -> String {
    if !taken(&name) {
        return name;
    }
    (2..).map(|number| format!("{name} ({number})")).find(|name| !taken(name)).expect("some number is free")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::text::testing::record;

    /// What kinds the runs in these folders are, of these seeds and recipes; and the seeds of each.
    fn named(runs: &[(&str, u32, &str)]) -> Vec<(String, Vec<u32>)> {
        let start = |seed: u32, recipe: &str| Start { seed, recipe: recipe.to_owned(), ..record(&[]).start };
        let runs: Vec<(String, Start)> =
            runs.iter().map(|(folder, seed, recipe)| ((*folder).to_owned(), start(*seed, recipe))).collect();
        let kinds = kinds(&runs, |(folder, start)| (folder, start));
        kinds.into_iter().map(|(name, runs)| (name, runs.iter().map(|run| run.1.seed).collect())).collect()
    }

    #[test]
    fn runs_that_differ_in_their_seed_alone_are_of_one_kind() {
        let kinds = named(&[
            ("runs/base-seed2", 2, "seed = 2\n"),
            ("runs/ghost-seed1", 1, "seed = 1\n[train]\nepochs = 3\n"),
            ("runs/base-seed1", 1, "seed = 1\n"),
        ]);
        assert_eq!(kinds, [("base".to_owned(), vec![1, 2]), ("ghost".to_owned(), vec![1])]);
    }

    #[test]
    fn kinds_of_one_name_are_numbered() {
        let kinds = named(&[
            ("a/run", 1, "[train]\nepochs = 1\n"),
            ("b/run", 1, "[train]\nepochs = 2\n"),
            ("c/run", 1, "[train]\nepochs = 3\n"),
        ]);
        let names: Vec<_> = kinds.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["run", "run (2)", "run (3)"]);
    }

    #[test]
    fn runs_are_called_as_their_folders_without_their_own_seeds() {
        let name = |folders: &[&str]| {
            let runs: Vec<_> = folders.iter().zip(3..).map(|(folder, seed)| (*folder, seed, "")).collect();
            named(&runs).remove(0).0
        };
        assert_eq!(name(&["runs/reproduce/animals12-podnet-seed3"]), "animals12-podnet");
        assert_eq!(name(&["runs/reproduce/animals12-podnet-seed4"]), "animals12-podnet-seed4", "another's seed");
        assert_eq!(name(&["runs/demo/ghost"]), "ghost");
        assert_eq!(name(&["resnet3"]), "resnet3", "no seed behind a separator");
        assert_eq!(name(&["-seed3"]), "-seed3", "nothing would be left");
        assert_eq!(name(&["mine_3", "mine-4"]), "mine");
        assert_eq!(name(&["s1/animals12", "s2/animals12"]), "animals12");
        assert_eq!(name(&["ghost", "gan"]), "ghost", "no chance prefix");
    }
}
