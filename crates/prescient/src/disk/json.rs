//! JSON that carries its own digest, as its last field: for files that no record vouches for.

use crate::disk::digest;
use serde::Serialize;

const END: &str = "\n}\n";
const FIELD: &str = ",\n  \"digest\": \"";

/// An object as text, with a digest of all before it.
pub(crate) fn signed(object: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(object).expect("plain data") + "\n";
    let head = text.strip_suffix(END).expect("an object with fields");
    format!("{head}{FIELD}{}\"{END}", digest(head.as_bytes()))
}

/// The object's text without its digest, which is checked. A file of an early version has none.
pub(crate) fn opened(text: &str) -> Result<String, String> {
    let Some((head, tail)) = text.rsplit_once(FIELD) else { return Ok(text.to_owned()) };
    match tail == format!("{}\"{END}", digest(head.as_bytes())) {
        true => Ok(format!("{head}{END}")),
        false => Err("it is not as it was written: its digest is another".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct About {
        name: String,
        scale: f32,
    }

    /// Any byte of it, changed to any of several others.
    #[test]
    fn no_byte_can_change_unnoticed() {
        let about = About { name: "a".to_owned(), scale: 0.1 };
        let text = signed(&about);
        let read = |text: &str| opened(text).and_then(|text| serde_json::from_str(&text).map_err(|e| e.to_string()));
        assert_eq!(read(&text), Ok(about));
        for at in 0..text.len() {
            for flip in [1, 2, 16, 32] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= flip;
                let changed = String::from_utf8(bytes).expect("ASCII");
                assert!(read(&changed).is_err(), "byte {at}: {changed}");
            }
        }
    }
}
