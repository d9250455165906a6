//! Names with `/` between their parts, seen as a tree of folders.

use std::collections::{BTreeMap, BTreeSet};

/// What lies in the folder `within` (`""` is the top), whole names; folders end in `/`, listed or not.
pub(super) fn children<'a, T>(names: &'a BTreeMap<String, T>, within: &str) -> BTreeSet<&'a str> {
    let below = names.range(within.to_owned()..).map(|(name, _)| name.as_str());
    let child = |name: &'_ str| match name[within.len()..].find('/') {
        Some(at) => within.len() + at + 1,
        None => name.len(),
    };
    let below = below.take_while(|name| name.starts_with(within));
    below.map(|name| &name[..child(name)]).filter(|name| *name != within).collect()
}

/// Whether there is a file or, if `name` ends in `/`, a folder of that name.
pub(super) fn has<T>(names: &BTreeMap<String, T>, name: &str) -> bool {
    match name.ends_with('/') {
        true => names.range(name.to_owned()..).next().is_some_and(|(first, _)| first.starts_with(name)),
        false => names.contains_key(name),
    }
}
