//! How many classes each task brings: `25+5x5` is 25 classes, then five tasks of five.

use crate::error::ScenarioError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The number of classes of each task, `|C^1|, …, |C^T|`.
///
/// ```
/// let split: prescient::scenario::Split = "25+5x5".parse()?;
/// assert_eq!(split.sizes(), [25, 5, 5, 5, 5, 5]);
/// assert_eq!(split.classes(), 50);
/// # Ok::<(), prescient::error::ScenarioError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Split {
    text: String,
    sizes: Vec<usize>,
}

impl Split {
    /// The number of classes of each task.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The number of classes of all tasks together.
    pub fn classes(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// One task with all classes: joint training, the upper bound.
    pub fn joint(classes: usize) -> Self {
        Self { text: classes.to_string(), sizes: vec![classes] }
    }
}

impl FromStr for Split {
    type Err = ScenarioError;

    /// Parts joined by `+`; a part is a number of classes, or `TASKSxCLASSES`: the paper's `16+8x2` is sixteen
    /// classes, then eight tasks of two.
    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let malformed = |reason: String| ScenarioError::Split { text: text.to_owned(), reason };
        let number = |part: &str| match part.trim().parse::<usize>() {
            Ok(0) => Err(malformed("a task needs at least one class, found `0`".to_owned())),
            Ok(number) if number <= crate::class::MOST => Ok(number),
            _ => Err(malformed(format!("expected a number of classes, found `{}`", part.trim()))),
        };
        let mut sizes = Vec::new();
        for part in text.split('+') {
            match part.split_once(['x', '×']) {
                Some((tasks, classes)) => sizes.extend(std::iter::repeat_n(number(classes)?, number(tasks)?)),
                None => sizes.push(number(part)?),
            }
        }
        if sizes.iter().sum::<usize>() > crate::class::MOST {
            return Err(malformed("more than 1,000,000 classes".to_owned()));
        }
        Ok(Self { text: text.to_owned(), sizes })
    }
}

impl TryFrom<String> for Split {
    type Error = ScenarioError;

    fn try_from(text: String) -> Result<Self, ScenarioError> {
        text.parse()
    }
}

impl From<Split> for String {
    fn from(split: Split) -> String {
        split.text
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Vec<usize> {
        text.parse::<Split>().expect(text).sizes().to_vec()
    }

    #[test]
    fn the_papers_protocols() {
        assert_eq!(sizes("25+5x5"), [25, 5, 5, 5, 5, 5]);
        assert_eq!(sizes("40+5x2"), [40, 2, 2, 2, 2, 2]);
        assert_eq!(sizes("16+8x2"), [16, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(sizes("20+6x2"), [20, 2, 2, 2, 2, 2, 2]);
        assert_eq!(sizes("6+2+2"), [6, 2, 2]);
        assert_eq!(sizes("5+5×1"), [5, 1, 1, 1, 1, 1]);
        assert_eq!(sizes("10"), [10]);
    }

    #[test]
    fn what_is_no_split_says_why() {
        let says = |text: &str| text.parse::<Split>().expect_err(text).to_string();
        assert_eq!(says("25+"), "the split `25+` cannot be read: expected a number of classes, found ``");
        assert_eq!(says("6+two"), "the split `6+two` cannot be read: expected a number of classes, found `two`");
        assert_eq!(says("6+0"), "the split `6+0` cannot be read: a task needs at least one class, found `0`");
        assert_eq!(says("600000+2x500000"), "the split `600000+2x500000` cannot be read: more than 1,000,000 classes");
    }
}
