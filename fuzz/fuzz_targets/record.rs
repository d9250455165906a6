//! Records: what is accepted can be reported in every form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::experiment::Record;
use prescient::report::{json, side_by_side, text};
use prescient_fuzz::{folder, made, run, without_digests};
use std::path::Path;
use std::sync::OnceLock;

/// The records of a run of each learner, without digests, as early versions wrote them: so a change is not refused for its
/// digest alone.
fn records() -> &'static [String; 2] {
    static RECORDS: OnceLock<[String; 2]> = OnceLock::new();
    RECORDS.get_or_init(|| {
        ["ghost", "closed-form"].map(|learner| {
            let folder = folder().join("run");
            run(learner, "12+12", &folder);
            let text = std::fs::read_to_string(folder.join("record.jsonl")).expect("a record");
            without_digests(&text)
        })
    })
}

fuzz_target!(|input: &[u8]| {
    let Some((&which, input)) = input.split_first() else { return };
    let bytes = made(records()[usize::from(which % 2)].as_bytes(), input);
    let Ok(written) = std::str::from_utf8(&bytes) else { return };
    if let Ok(record) = Record::parse(written, Path::new("record.jsonl")) {
        drop(text(&record));
        drop(side_by_side(&[("run", &record)]));
        drop(json(&[("run".to_owned(), record)]));
    }
});
