//! The ledgers of several processes as one: each notes what it read itself, and an audit is to see what all read.

use super::TaskData;
use super::ledger::{Ledger, Trace, Usage};
use crate::class::ClassId;
use crate::data::thumbnail::Thumbnail;
use crate::data::{Sample, Subset};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What one process read.
#[derive(Serialize, Deserialize)]
struct Pages {
    stages: Vec<String>,
    lines: Vec<Line>,
}

/// An image and what it was used for. Short names: there are as many lines as images.
#[derive(Serialize, Deserialize)]
struct Line {
    u: Usage,
    s: Subset,
    i: u32,
    c: u32,
    h: String,
    p: Option<Thumbnail>,
    b: u64,
    /// Places in `stages`.
    at: Vec<usize>,
}

impl TaskData {
    /// What this process read so far, to be sent to others.
    pub fn pages(&self) -> Vec<u8> {
        let stages = self.ledger().stages();
        let place = |stage: &&str| stages.iter().position(|other| other == stage).expect("a stage that has begun");
        let line = |(u, sample, trace, at): (Usage, Sample, Trace, Vec<&'static str>)| Line {
            u,
            s: sample.subset,
            i: sample.index,
            c: sample.class.0,
            h: trace.hash.to_hex().to_string(),
            p: trace.thumbnail.map(|thumbnail| *thumbnail),
            b: trace.bytes,
            at: at.iter().map(place).collect(),
        };
        let lines = self.ledger().uses().into_iter().map(line).collect();
        let stages = stages.iter().map(|stage| (*stage).to_owned()).collect();
        serde_json::to_vec(&Pages { stages, lines }).expect("plain data")
    }

    /// Adds what another process read, as it sent it; its own changes nothing.
    pub fn add_pages(&self, bytes: &[u8]) -> Result<(), String> {
        let pages: Pages = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let ledger: &Ledger = self.ledger();
        let stages = ledger.stages();
        if pages.stages != stages {
            return Err(format!("expected the stages {stages:?}, found {:?}", pages.stages));
        }
        for Line { u, s, i, c, h, p, b, at } in pages.lines {
            let hash = blake3::Hash::from_hex(&h).map_err(|error| error.to_string())?;
            let trace = Trace { hash, thumbnail: p.map(Arc::new), bytes: b };
            let at: Option<Vec<&'static str>> = at.iter().map(|place| stages.get(*place).copied()).collect();
            let at = at.ok_or("a stage that has not begun")?;
            ledger.add(u, &Sample { subset: s, index: i, class: ClassId(c) }, trace, &at);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Synthetic, SyntheticSettings};
    use crate::protocol::Sealed;
    use crate::scenario::{Order, Scenario, Split};
    use std::sync::Arc;

    /// Two processes read one half each, and one of them its half twice: together they have read what one would have.
    #[test]
    fn what_two_processes_read_is_what_one_would_have_read() {
        let dataset = Arc::new(Synthetic::new(&SyntheticSettings { train: 2, test: 1 }));
        let split: Split = format!("{}", dataset.catalogue().len()).parse().expect("a split");
        let scenario = Scenario::new(dataset.catalogue().names(), &Order::Listed, &split).expect("a scenario");
        let data = || Sealed::new(dataset.clone(), scenario.clone()).open(&scenario.task(1), []);
        let read = |data: &TaskData, stage: &'static str, part: std::ops::Range<usize>| {
            data.enter(stage);
            data.present()[part].iter().for_each(|sample| drop(data.training_image(sample).expect("its own")));
        };
        let count = data().present().len();
        let [one, first, second] = [data(), data(), data()];
        for stage in ["imprint", "train"] {
            read(&one, stage, 0..count);
            read(&first, stage, 0..count / 2);
            read(&second, stage, count / 2..count);
        }
        assert_ne!(first.readings(), one.readings());
        let (of_first, of_second) = (first.pages(), second.pages());
        for pages in [&of_first, &of_second, &of_second] {
            first.add_pages(pages).expect("pages of the same run");
        }
        assert_eq!(first.readings(), one.readings());
        second.enter("another");
        assert!(second.add_pages(&of_first).expect_err("other stages").starts_with("expected the stages"));
    }
}
