//! What TensorBoard reads: TensorFlow's `Event`, as far as numbers need it (`tensorflow/core/util/event.proto`).

use prost::Message;

/// Something that happened, or what the file is.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    pub(super) wall_time: f64,
    /// Where it stands on the axis.
    #[prost(int64, tag = "2")]
    pub(super) step: i64,
    /// Of the first event of a file alone.
    #[prost(string, optional, tag = "3")]
    pub(super) file_version: Option<String>,
    /// Of all others.
    #[prost(message, optional, tag = "5")]
    pub(super) summary: Option<Summary>,
}

/// Numbers of one step.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Summary {
    /// One after the other.
    #[prost(message, repeated, tag = "1")]
    pub(super) values: Vec<Value>,
}

/// A number.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Value {
    /// What it is called.
    #[prost(string, tag = "1")]
    pub(super) tag: String,
    /// The number.
    #[prost(float, optional, tag = "2")]
    pub(super) simple_value: Option<f32>,
}

impl Event {
    /// The first event of every file.
    pub(super) fn version(wall_time: f64) -> Self {
        Self { wall_time, file_version: Some("brain.Event:2".to_owned()), ..Default::default() }
    }

    /// Numbers at a step.
    pub(super) fn numbers(wall_time: f64, step: usize, numbers: &[(String, f64)]) -> Self {
        let value = |(tag, number): &(String, f64)| Value { tag: tag.clone(), simple_value: Some(*number as f32) };
        let summary = Summary { values: numbers.iter().map(value).collect() };
        Self { wall_time, step: step as i64, file_version: None, summary: Some(summary) }
    }

    /// Whether it has a number of that name.
    pub(super) fn has(&self, tag: &str) -> bool {
        self.summary.iter().flat_map(|summary| &summary.values).any(|value| value.tag == tag)
    }
}
