//! The table `[data]` of a recipe: which dataset with its own keys, and the keys that every dataset takes.

use crate::data::Source;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::{Deref, DerefMut};
use toml::Table;

/// The key that every dataset takes.
const SHOTS: &str = "shots";

/// Which images, and how many of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSettings {
    /// Which dataset.
    pub source: Source,
    /// How many training images there are of each class that arrives after the first task, drawn by the seed of the run.
    /// None: all.
    pub shots: Option<usize>,
}

impl From<Source> for DataSettings {
    fn from(source: Source) -> Self {
        Self { source, shots: None }
    }
}

/// Most of what is asked of it is asked of the dataset.
impl Deref for DataSettings {
    type Target = Source;

    fn deref(&self) -> &Source {
        &self.source
    }
}

impl DerefMut for DataSettings {
    fn deref_mut(&mut self) -> &mut Source {
        &mut self.source
    }
}

impl Serialize for DataSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Flat<'a> {
            #[serde(flatten)]
            source: &'a Source,
            #[serde(skip_serializing_if = "Option::is_none")]
            shots: Option<usize>,
        }
        Flat { source: &self.source, shots: self.shots }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DataSettings {
    /// By hand: with serde's `flatten` a key that no dataset has would go unnoticed.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Table::deserialize(deserializer)?;
        let shots = table.remove(SHOTS).map(toml::Value::try_into).transpose().map_err(told::<D::Error>)?;
        Ok(Self { source: table.try_into().map_err(told::<D::Error>)?, shots })
    }
}

/// The same error; where it names the keys that there are, with the one of every dataset.
fn told<E: Error>(error: toml::de::Error) -> E {
    let message = error.message();
    match message.contains("unknown field") && message.contains("expected") {
        true => E::custom(format!("{message}, or `{SHOTS}`")),
        false => E::custom(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::FolderSettings;

    fn read(text: &str) -> Result<DataSettings, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn every_dataset_takes_shots() {
        for head in ["kind = 'synthetic'", "kind = 'folder'\npath = 'x'", "kind = 'awa2'"] {
            let settings = read(&format!("{head}\nshots = 3\n")).expect(head);
            assert_eq!(settings.shots, Some(3));
            assert_eq!(read(&toml::to_string(&settings).expect("plain data")).expect(head), settings);
            assert_eq!(read(head).expect(head).shots, None);
        }
        assert_eq!(DataSettings::from(Source::Folder(FolderSettings::new("x"))).name(), "folder");
    }

    #[test]
    fn what_is_no_key_is_told() {
        let says = |text| read(text).expect_err(text).message().to_owned();
        assert!(says("kind = 'folder'\npath = 'x'\nshot = 1").contains("unknown field `shot`"));
        assert!(says("kind = 'folder'\npath = 'x'\nshot = 1").ends_with("or `shots`"));
        assert!(says("kind = 'synthetic'\nshots = 'few'").contains("expected usize"));
    }
}
