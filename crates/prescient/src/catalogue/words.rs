//! Class information from words: descriptions, or the names of the classes alone.

use crate::catalogue::{Block, BlockKind, Catalogue};
use crate::error::DataError;
use crate::text::{self, MOST_TOKENS, WIDTH};

/// What `data.attributes` calls the names of the classes.
pub(super) const NAMES: &str = "names";

/// The classes called `names` with a text each, embedded; `source` is what the texts come from.
pub(super) fn embedded(
    names: &[String],
    texts: &[String],
    source: &str,
    kind: BlockKind,
) -> Result<Catalogue, DataError> {
    let text::Embedded { rows, cut, weights } = text::embed(texts)?;
    for place in cut {
        let class = &names[place];
        tracing::warn!(
            "`{source}`: the description of `{class}` has more than {MOST_TOKENS} tokens; the rest is not read"
        );
    }
    let columns = (1..=WIDTH).map(|column| format!("{source} {column}")).collect();
    let digest = Some(digest(names, texts, &weights));
    let block = Block { name: source.to_owned(), kind, columns: 0..WIDTH, digest };
    Ok(Catalogue::new(names.to_vec(), columns, rows).with_blocks(vec![block]))
}

/// The names of classes as class information.
pub(super) fn from_names(names: &[String]) -> Result<Catalogue, DataError> {
    let texts: Vec<String> = names.iter().map(|name| as_words(name)).collect();
    embedded(names, &texts, NAMES, BlockKind::Names)
}

/// `german+shepherd` as people write it.
pub(crate) fn as_words(name: &str) -> String {
    let spaced: String = name.chars().map(|c| if ['_', '+', '-'].contains(&c) { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A hash of texts by class, whatever their order, and of the weights.
fn digest(names: &[String], texts: &[String], weights: &str) -> String {
    let mut pairs: Vec<(&String, &String)> = names.iter().zip(texts).collect();
    pairs.sort();
    let mut hasher = blake3::Hasher::new();
    hasher.update(weights.as_bytes());
    for part in pairs.into_iter().flat_map(|(name, text)| [name, text]) {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_as_words() {
        assert_eq!(as_words("german+shepherd"), "german shepherd");
        assert_eq!(as_words("red_kneed-tarantula"), "red kneed tarantula");
        assert_eq!(as_words("_cat__house "), "cat house");
    }

    #[test]
    fn a_digest_is_that_of_the_texts_and_not_of_their_order() {
        let list = |texts: [&str; 2]| texts.map(String::from).to_vec();
        let (names, texts) = (list(["cat", "dog"]), list(["it purrs", "it barks"]));
        let same = digest(&list(["dog", "cat"]), &list(["it barks", "it purrs"]), "w");
        assert_eq!(digest(&names, &texts, "w"), same);
        assert_ne!(digest(&names, &list(["it barks", "it purrs"]), "w"), same);
        assert_ne!(digest(&names, &texts, "v"), same);
    }
}
