//! `prescient classes`.

use crate::output::{self, Form};
use clap::{Args, ValueEnum};
use prescient::catalogue::{AttributeSource, Block, BlockKind, Catalogue, Scale, joined, nearest, warnings};
use prescient::class::ClassId;
use prescient::error::{Result, While};
use std::path::PathBuf;

/// Show what is known of classes: which are similar, which cannot be told apart
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient classes animals.csv
  prescient classes data/awa2/predicate-matrix-binary.txt data/awa2/att_splits.mat
  prescient classes glove.npy                       with the names in glove.txt
  prescient classes descriptions.csv names          sentences, and the names of the classes as words

Files may be CSV, with numbers or a column of descriptions, AwA2's predicate-matrix-*.txt,
xlsa17's att_splits.mat, .npy, or a folder of AwA2's or aP&Y's own files. Several are put side by
side, class by class. Similarity is the cosine between two classes' attributes.")]
pub(super) struct Classes {
    /// Where attributes come from
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// How many neighbours of each class
    #[arg(long, default_value_t = 3)]
    nearest: usize,

    /// How the attributes of each file are scaled first
    #[arg(long, value_enum, default_value = "none")]
    scale: ScaleName,

    #[command(flatten)]
    form: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleName {
    None,
    UnitL2,
    Range,
}

impl Classes {
    pub(super) fn run(self) -> Result<()> {
        let scale = match self.scale {
            ScaleName::None => Scale::None,
            ScaleName::UnitL2 => Scale::UnitL2,
            ScaleName::Range => Scale::Range,
        };
        let sources: Vec<AttributeSource> = self.files.into_iter().map(AttributeSource::new).collect();
        let catalogue = joined(&sources, scale).when(|| "read the class information".to_owned())?;
        let catalogue = catalogue.expect("clap asks for a file");
        match self.form.is_json() {
            true => output::print(&json(&catalogue, self.nearest)),
            false => output::print_text(&text(&catalogue, self.nearest)),
        }
    }
}

fn text(catalogue: &Catalogue, count: usize) -> String {
    let mut text = format!("{} classes, {}\n\n", catalogue.len(), sources(catalogue));
    let width = catalogue.names().iter().map(|name| name.chars().count()).max().unwrap_or(0).max(5);
    text.push_str(&format!("{:<width$}  most similar\n", "class"));
    for (name, index) in catalogue.names().iter().zip(0..) {
        let neighbours = nearest(catalogue, ClassId(index), count);
        let neighbours: Vec<String> =
            neighbours.iter().map(|other| format!("{} {:.3}", catalogue.name(other.class), other.similarity)).collect();
        text.push_str(&format!("{name:<width$}  {}\n", neighbours.join("  ")));
    }
    let warnings = warnings(catalogue);
    if !warnings.is_empty() {
        text.push_str("\nworth a look\n");
        warnings.iter().for_each(|warning| text.push_str(&format!("  {warning}\n")));
    }
    text
}

fn json(catalogue: &Catalogue, count: usize) -> String {
    let class = |(name, index): (&String, u32)| {
        let near = nearest(catalogue, ClassId(index), count)
            .into_iter()
            .map(|other| serde_json::json!({ "class": catalogue.name(other.class), "similarity": other.similarity }));
        serde_json::json!({ "class": name, "most_similar": near.collect::<Vec<_>>() })
    };
    let classes: Vec<_> = catalogue.names().iter().zip(0..).map(class).collect();
    let warnings: Vec<String> = warnings(catalogue).iter().map(ToString::to_string).collect();
    let all = serde_json::json!({
        "attributes": catalogue.attribute_names().len(),
        "classes": classes,
        "worth_a_look": warnings,
    });
    serde_json::to_string_pretty(&all).expect("plain data") + "\n"
}

/// `85 attributes`; and which sources are words.
fn sources(catalogue: &Catalogue) -> String {
    let (words, numbers): (Vec<&Block>, Vec<&Block>) = catalogue.blocks().iter().partition(|block| block.is_words());
    let attributes: usize = numbers.iter().map(|block| block.columns.len()).sum();
    let mut parts: Vec<String> = words
        .iter()
        .map(|block| match block.kind {
            BlockKind::Names => "their names".to_owned(),
            BlockKind::Attributes | BlockKind::Text => format!("descriptions of `{}`", block.name),
        })
        .collect();
    if attributes > 0 || parts.is_empty() {
        parts.insert(0, format!("{attributes} attributes"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// cos((3, 4), (4, 3)) = 0.96; the wolf and the dog are the same.
    #[test]
    fn similar_classes_and_warnings() {
        let table = "class,a,b\ncat,3,4\nwolf,4,3\ndog,4,3\n";
        let catalogue = Catalogue::from_csv(table.as_bytes(), Path::new("a.csv")).expect("a table");
        insta::assert_snapshot!(text(&catalogue, 2), @r"
        3 classes, 2 attributes

        class  most similar
        cat    wolf 0.960  dog 0.960
        wolf   dog 1.000  cat 0.960
        dog    wolf 1.000  cat 0.960

        worth a look
          `wolf` and `dog` have the same attributes: they cannot be told apart before their images arrive
        ");
        let read: serde_json::Value = serde_json::from_str(&json(&catalogue, 1)).expect("JSON");
        assert_eq!(read["attributes"], 2);
        assert_eq!(read["classes"][1]["most_similar"][0]["class"], "dog");
        assert_eq!(read["worth_a_look"].as_array().map(Vec::len), Some(1));
    }
}
