//! `prescient list`.

use crate::{output, recipes};
use clap::Args;
use prescient::data::{
    ApySettings, Awa2Settings, DATASETS, FeaturesSettings, FolderSettings, MnistSettings, PackSettings, Source,
};
use prescient::error::Result;
use prescient::evaluation::METRICS;
use prescient::experiment::Recipe;

/// Name the datasets, recipes, metrics and recipe keys there are
#[derive(Debug, Args)]
pub(super) struct List {
    /// Show every key of a recipe with its default instead
    #[arg(long)]
    keys: bool,

    /// Show the text of this recipe instead, to start your own from
    #[arg(long, value_name = "NAME", conflicts_with = "keys")]
    recipe: Option<String>,
}

impl List {
    pub(super) fn run(self) -> Result<()> {
        let text = match self.recipe {
            _ if self.keys => keys(),
            Some(name) => recipes::find(&name)?.0,
            None => everything(),
        };
        output::print(&text)
    }
}

fn everything() -> String {
    let mut lines = vec!["datasets".to_owned()];
    for dataset in DATASETS {
        lines.push(format!("  {:<20} {}\n  {:<20} needs: {}", dataset.name, dataset.about, "", dataset.needs));
    }
    lines.push("\nrecipes (prescient run NAME; prescient list --recipe NAME shows one)".to_owned());
    let width = recipes::RECIPES.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, text) in recipes::RECIPES {
        lines.push(format!("  {name:<width$} {}", recipes::about(text)));
    }
    lines.push("\nmetrics".to_owned());
    for metric in METRICS {
        lines.push(format!("  {:<20} {}", metric.name(), metric.about()));
    }
    lines.join("\n") + "\n"
}

fn keys() -> String {
    format!(
        "# Every key with its default, which is the paper's value where the paper gives one.\n\
         # Left out here: scenario.split, which every recipe must give; what the dataset decides\n\
         # (images.size, images.resize, images.crop, images.flip, images.normalization); and numbers\n\
         # that have no default: train.later_lr, train.clip, ghosts.share.\n\n{}\n{}",
        Recipe::default().to_toml(),
        other_keys()
    )
}

/// The keys of what there can be only one of, in comments, so that the whole stays a recipe.
fn other_keys() -> String {
    let folder = FolderSettings { leave_out: vec!["train/cat/0001.jpg".to_owned()], ..FolderSettings::new("photos") };
    let others = [
        ("", Source::Mnist(MnistSettings { path: Some("mnist".into()) })),
        (
            "# attributes: paths, or tables such as { path = \"a.npy\", classes = [\"cat\"] } and\n\
             # { path = \"att_splits.mat\", variable = \"original_att\" }; scale: none, unit-l2 or range;\n\
             # leave_out: images that are not used\n",
            Source::Folder(folder),
        ),
        (
            "# attributes: continuous or binary; scale: none, unit-l2 or range\n",
            Source::Awa2(Awa2Settings { path: Some("awa2".into()), ..Default::default() }),
        ),
        (
            "# scale: none, unit-l2 or range\n",
            Source::Apy(ApySettings { path: Some("apy".into()), ..Default::default() }),
        ),
        ("", Source::Pack(PackSettings { path: "photos.pack".into() })),
        (
            "# attributes, scale: as for folder; unit: each row to length 1; needs model.backbone.kind = \"mlp\" or \"identity\"\n\
             # and loss.distillation without maps, such as { kind = \"pod\", weight = 0.0 }\n",
            Source::Features(FeaturesSettings { unit: true, ..FeaturesSettings::new("vectors") }),
        ),
    ];
    let mut text = "# Other datasets:\n".to_owned();
    for (about, source) in others {
        let keys = toml::to_string(&source).expect("settings are plain data");
        text.push_str(&format!("#\n{about}# [data]\n"));
        keys.lines().for_each(|line| text.push_str(&format!("# {line}\n")));
    }
    text.push_str(
        "#\n# Other orders: scenario.order = { kind = \"shuffled\", seed = 1 }, { kind = \"file\", path = \"order.txt\" },\n\
         # and for awa2 and apy { kind = \"standard\" }, { kind = \"proposed\" }\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_keys_are_a_recipe() {
        assert_eq!(Recipe::parse(&keys(), Path::new("keys")).expect("a recipe"), Recipe::default());
    }

    #[test]
    fn every_dataset_shows_its_keys() {
        for dataset in DATASETS {
            assert!(keys().contains(&format!("kind = \"{}\"", dataset.name)), "{}", dataset.name);
        }
        assert!(keys().contains("# scale = \"unit-l2\"") && keys().contains("# attributes = \"continuous\""));
    }
}
