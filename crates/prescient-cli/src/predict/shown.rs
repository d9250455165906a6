//! Answers as a table, as JSON lines, or as CSV.

use clap::ValueEnum;
use prescient::{Prediction, Predictor};
use serde::Serialize;

/// How answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Columns, for people
    Table,
    /// One JSON object a photo
    #[value(alias = "json")]
    Jsonl,
    /// One row for each photo and class
    Csv,
}

/// The answer for one photo.
#[derive(Serialize)]
pub(super) struct Answer {
    image: String,
    predictions: Vec<Class>,
    /// Whether it is too unsure to say; only where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    abstains: Option<bool>,
}

#[derive(Serialize)]
struct Class {
    class: String,
    probability: f32,
    score: f32,
    seen: bool,
}

impl Answer {
    /// From so sure on it answers, where that was asked for.
    pub(super) fn new(
        image: &str,
        prediction: &Prediction,
        predictor: &Predictor,
        (top, sure): (usize, Option<f32>),
    ) -> Self {
        let class = |guess: &prescient::predictor::Guess| Class {
            class: predictor.class(guess.slot).to_owned(),
            probability: guess.probability,
            score: guess.score,
            seen: predictor.is_seen(guess.slot),
        };
        let abstains = sure.map(|sure| prediction.guesses[0].probability < sure);
        let predictions = prediction.guesses.iter().take(top).map(class).collect();
        Self { image: image.to_owned(), predictions, abstains }
    }

    /// The class that it answers with; none where it abstains.
    pub(super) fn class(&self) -> Option<&str> {
        self.predictions.first().filter(|_| self.abstains != Some(true)).map(|class| class.class.as_str())
    }
}

impl Form {
    pub(super) fn start(self) -> Shown {
        Shown { form: self, begun: false, rows: Vec::new() }
    }
}

/// Answers as they are written.
pub(super) struct Shown {
    form: Form,
    begun: bool,
    /// Of a table, whose columns are as wide as their widest cell.
    rows: Vec<[String; 4]>,
}

impl Shown {
    /// What can be written now.
    pub(super) fn add(&mut self, answers: Vec<Answer>) -> String {
        match self.form {
            Form::Jsonl => {
                answers.iter().map(|answer| serde_json::to_string(answer).expect("plain data") + "\n").collect()
            }
            Form::Csv => {
                let more = if answers.iter().any(|answer| answer.abstains.is_some()) { ",abstains" } else { "" };
                let header = match std::mem::replace(&mut self.begun, true) {
                    true => String::new(),
                    false => format!("image,rank,class,probability,seen{more}\n"),
                };
                answers.iter().fold(header, |text, answer| text + &csv_rows(answer))
            }
            Form::Table => {
                self.rows.extend(answers.iter().flat_map(table_rows));
                String::new()
            }
        }
    }

    /// What is left.
    pub(super) fn finish(self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let header = ["photo", "class", "probability", ""].map(String::from);
        let rows: Vec<&[String; 4]> = std::iter::once(&header).chain(&self.rows).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2)];
        let line = |row: &[String; 4]| {
            let text = format!(
                "{:<a$}  {:<b$}  {:>c$}  {}",
                row[0],
                row[1],
                row[2],
                row[3],
                a = widths[0],
                b = widths[1],
                c = widths[2]
            );
            text.trim_end().to_owned() + "\n"
        };
        rows.into_iter().map(line).collect()
    }
}

fn table_rows(answer: &Answer) -> Vec<[String; 4]> {
    let unsure = (answer.abstains == Some(true))
        .then(|| [answer.image.clone(), "not sure".to_owned(), String::new(), String::new()]);
    let first = if unsure.is_some() { "" } else { answer.image.as_str() };
    let row = |(rank, class): (usize, &Class)| {
        let image = if rank == 0 { first } else { "" };
        let known = if class.seen { "seen" } else { "not yet photographed" };
        [image.to_owned(), class.class.clone(), format!("{:.1} %", 100.0 * class.probability), known.to_owned()]
    };
    unsure.clone().into_iter().chain(answer.predictions.iter().enumerate().map(row)).collect()
}

fn csv_rows(answer: &Answer) -> String {
    let row = |(rank, class): (usize, &Class)| {
        let (image, name) = (quoted(&answer.image), quoted(&class.class));
        let abstains = answer.abstains.map_or_else(String::new, |abstains| format!(",{abstains}"));
        format!("{image},{},{name},{:.6},{}{abstains}\n", rank + 1, class.probability, class.seen)
    };
    answer.predictions.iter().enumerate().map(row).collect()
}

/// A cell of a CSV, in quotes where it needs them.
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        let class = |class: &str, probability, seen| Class {
            class: class.to_owned(),
            probability,
            score: 2.0 * probability,
            seen,
        };
        Answer {
            image: "a, b.jpg".to_owned(),
            predictions: vec![class("lion", 0.9, true), class("ox", 0.1, false)],
            abstains: None,
        }
    }

    #[test]
    fn who_abstains_says_so_and_shows_what_it_thinks() {
        let answer = || Answer { abstains: Some(true), ..answer() };
        assert_eq!((answer().class(), super::tests::answer().class()), (None, Some("lion")));
        let mut shown = Form::Table.start();
        shown.add(vec![answer()]);
        let table = shown.finish();
        assert_eq!(table.lines().nth(1), Some("a, b.jpg  not sure"));
        let csv = Form::Csv.start().add(vec![answer()]);
        assert!(
            csv.starts_with("image,rank,class,probability,seen,abstains\n\"a, b.jpg\",1,lion,0.900000,true,true\n")
        );
    }

    fn written(form: Form) -> String {
        let mut shown = form.start();
        let first = shown.add(vec![answer()]);
        first + &shown.finish()
    }

    #[test]
    fn a_table_says_what_was_seen() {
        let expected = "photo     class  probability\n\
                        a, b.jpg  lion        90.0 %  seen\n\
                        \x20         ox          10.0 %  not yet photographed\n";
        assert_eq!(written(Form::Table), expected);
    }

    #[test]
    fn csv_quotes_what_needs_quotes() {
        let expected = "image,rank,class,probability,seen\n\
                        \"a, b.jpg\",1,lion,0.900000,true\n\"a, b.jpg\",2,ox,0.100000,false\n";
        assert_eq!(written(Form::Csv), expected);
    }

    #[test]
    fn a_json_line_is_one_photo() {
        let line: serde_json::Value = serde_json::from_str(&written(Form::Jsonl)).expect("JSON");
        assert_eq!(line["image"], "a, b.jpg");
        assert_eq!(line["predictions"][1]["class"], "ox");
        assert_eq!(line["predictions"][1]["score"], 0.2);
        assert_eq!(line["predictions"][1]["seen"], false);
    }
}
