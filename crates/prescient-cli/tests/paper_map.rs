//! `docs/reference/paper-map.md` names what is there: sources are parsed, and every name is resolved to an item, a field, a
//! variant or a method.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::{Attribute, Fields, ImplItem, Item, TraitItem};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// What a source file defines, its tests aside.
#[derive(Debug, Default)]
struct Names {
    /// Functions, types, traits, constants.
    items: BTreeSet<String>,
    /// Fields, variants and methods of each type or trait.
    members: BTreeMap<String, BTreeSet<String>>,
    /// Modules that are files of their own.
    modules: BTreeSet<String>,
}

impl Names {
    fn of(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
        let mut names = Self::default();
        names.add(&parsed.items);
        names
    }

    fn has(&self, name: &str) -> bool {
        self.items.contains(name) || self.members.values().any(|members| members.contains(name))
    }

    fn add(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Const(item) => drop(self.items.insert(item.ident.to_string())),
                Item::Static(item) => drop(self.items.insert(item.ident.to_string())),
                Item::Type(item) => drop(self.items.insert(item.ident.to_string())),
                Item::Fn(item) => drop(self.items.insert(item.sig.ident.to_string())),
                Item::Struct(item) => self.add_type(&item.ident.to_string(), fields(&item.fields)),
                Item::Enum(item) => {
                    let variants = item
                        .variants
                        .iter()
                        .flat_map(|variant| std::iter::once(variant.ident.to_string()).chain(fields(&variant.fields)));
                    self.add_type(&item.ident.to_string(), variants.collect());
                }
                Item::Trait(item) => {
                    let methods = item.items.iter().filter_map(|item| match item {
                        TraitItem::Fn(method) => Some(method.sig.ident.to_string()),
                        _ => None,
                    });
                    self.add_type(&item.ident.to_string(), methods.collect());
                }
                Item::Impl(item) => {
                    let syn::Type::Path(of) = &*item.self_ty else { continue };
                    let methods = item.items.iter().filter_map(|item| match item {
                        ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
                        ImplItem::Const(constant) => Some(constant.ident.to_string()),
                        _ => None,
                    });
                    let of = of.path.segments.last().unwrap().ident.to_string();
                    self.members.entry(of).or_default().extend(methods);
                }
                // `metric_of_one_task!(Seen, …)` defines `Seen`.
                Item::Macro(item) if item.ident.is_none() => {
                    if let Some(proc_macro2::TokenTree::Ident(first)) = item.mac.tokens.clone().into_iter().next() {
                        self.items.insert(first.to_string());
                    }
                }
                Item::Mod(item) if !is_for_tests(&item.attrs) => match &item.content {
                    Some((_, items)) => self.add(items),
                    None => drop(self.modules.insert(item.ident.to_string())),
                },
                _ => {}
            }
        }
    }

    fn add_type(&mut self, name: &str, members: Vec<String>) {
        self.items.insert(name.to_owned());
        self.members.entry(name.to_owned()).or_default().extend(members);
    }
}

fn fields(fields: &Fields) -> Vec<String> {
    fields.iter().filter_map(|field| field.ident.as_ref()).map(ToString::to_string).collect()
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| attribute.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "test");
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg") && is_test(attribute))
}

/// The file of a module below `folder`: `NAME.rs` or `NAME/mod.rs`.
fn module_file(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")].into_iter().find(|file| file.exists())
}

/// Resolves `prescient::module::…::item` or `prescient::module::…::Type::method`; says what is not there.
fn resolve(path: &str) -> Result<(), String> {
    let mut segments = path.split("::");
    if segments.next() != Some("prescient") {
        return Err("not in `prescient`".to_owned());
    }
    let mut folder = root().join("crates/prescient/src");
    let mut names = Names::of(&folder.join("lib.rs"));
    let mut rest: Vec<&str> = segments.collect();
    while names.modules.contains(*rest.first().ok_or("a module, and nothing in it")?) {
        let module = rest.remove(0);
        let file = module_file(&folder, module).ok_or_else(|| format!("the module `{module}` has no file"))?;
        names = Names::of(&file);
        folder.push(module);
    }
    match rest[..] {
        [item] if names.items.contains(item) => Ok(()),
        [item, member] if names.members.get(item).is_some_and(|members| members.contains(member)) => Ok(()),
        _ => Err(format!("`{}` does not define `{}`", folder.display(), rest.join("::"))),
    }
}

/// The cells of each row of the map's tables.
fn rows() -> Vec<Vec<String>> {
    let map = std::fs::read_to_string(root().join("docs/reference/paper-map.md")).unwrap();
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    map.lines().filter(|line| line.starts_with('|')).map(cells).collect()
}

/// The names in backticks of a cell.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_name_of_the_paper_map_is_in_its_file() {
    let mut found = 0;
    for row in rows() {
        let [paper, file, names] = &row[..] else { panic!("three cells: {row:?}") };
        let [file] = quoted(file)[..] else { continue };
        let (defined, wanted) = (Names::of(&root().join(file)), quoted(names));
        assert!(!wanted.is_empty(), "{paper}: which names of `{file}`?");
        for name in wanted {
            assert!(defined.has(name), "{paper}: `{file}` does not define `{name}`");
            found += 1;
        }
    }
    assert!(found >= 50, "{found} names");
}

#[test]
fn every_line_of_algorithm_1_has_its_function() {
    let rows = rows();
    let functions: Vec<(&str, &str)> = rows
        .iter()
        .filter_map(|row| Some((row[0].as_str(), *quoted(&row[2]).first()?)))
        .filter(|(_, path)| path.starts_with("prescient::"))
        .collect();
    for (line, path) in &functions {
        resolve(path).unwrap_or_else(|reason| panic!("line {line}, `{path}`: {reason}"));
    }
    let lines: BTreeSet<usize> =
        functions.iter().flat_map(|(lines, _)| lines.split(',').filter_map(|line| line.trim().parse().ok())).collect();
    assert_eq!(lines, (1..=9).collect(), "lines 1 to 9 of the box; 10 ends what 7 begins");
}

/// The check itself finds what is not there.
#[test]
fn what_is_not_there_is_not_found() {
    for path in [
        "prescient::learner::ghost::train::trained",
        "prescient::learner::ghost::plan::Plan::old",
        "prescient::learner::spirit::train::train",
        "prescient::learner::ghost",
        "learner::ghost::train::train",
    ] {
        assert!(resolve(path).is_err(), "{path}");
    }
    let file = root().join("crates/prescient/src/loss/nca.rs");
    let names = Names::of(&file);
    assert!(names.has("Nca") && names.has("margin") && names.has("losses") && names.has("CrossEntropy"));
    // A word of a comment, a variable, and a function of the tests.
    assert!(!names.has("feature") && !names.has("own_column") && !names.has("loss_by_hand"));
}
