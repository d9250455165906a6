//! Numbers of the authors' own functions for what has no tensors. (Losses and classifier have theirs beside them.)
#![allow(clippy::unwrap_used)]

use prescient::memory::herd;
use serde_json::Value;

#[test]
fn herding_chooses_as_the_authors_do() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/reference.json");
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let features: Vec<Vec<f32>> = serde_json::from_value(golden["herding"]["features"].clone()).unwrap();
    let order: Vec<usize> = serde_json::from_value(golden["herding"]["order"].clone()).unwrap();
    assert_eq!(herd(&features, order.len()), order);
}
