//! How far a task is, so that another process can go on with it: of a task that is killed at most an epoch is done again.
//!
//! A stage with epochs begins here, and comes back after each epoch with what it changes. A stage may have others within an epoch:
//! the generator is trained anew in the middle of the main training.
//!
//! ```text
//! imprint   train ─────────────────────────── finetune   remember   features   generator   complete   calibrate
//!             epoch 1, 2, [refresh 1 … n] 3, 4  1 … n                              1 … n       1 … n      1 … n, 1 … n
//! ```
//!
//! Whoever goes on runs through the task from its beginning. A stage that is done takes over what it left, one that was under way
//! goes on after its last epoch. What lies between is computed again, for it takes less than an epoch: features and exemplars
//! (images are read once, without gradients), ghosts, and the planes of svm-reg, which are solved for and have no epochs.

use super::partial::{AboutStage, Contents, Kept, Partial, Told};
use crate::engine::{Changing, Processes};
use crate::error::{LearnError, RunError};
use crate::learner::{Event, share_readings};
use crate::protocol::TaskData;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use tch::{Device, Tensor, no_grad};

/// How far a task is.
#[derive(Clone)]
pub(super) struct Progress(Rc<RefCell<Journal>>);

struct Journal {
    task: usize,
    processes: Processes,
    /// One process writes, where any does.
    file: Option<Partial>,
    /// What is named in errors.
    path: PathBuf,
    /// In the order in which they began; those that lie within an epoch of another come after it, until that epoch is done.
    stages: Vec<Kept>,
    /// How many of them have begun in this process; the rest did in the one before.
    begun: usize,
    /// Which images were read, up to the end of the last stage that is done and reads some.
    pages: Vec<u8>,
    /// What was told since the last epoch was done.
    told: Vec<Told>,
    unwritten: bool,
}

/// A stage that has begun.
pub(super) struct Open {
    place: usize,
    of: usize,
    /// The epoch to begin with, from 0.
    pub(super) first: usize,
    /// What was told of it in the process before.
    pub(super) told: Vec<Told>,
}

impl Progress {
    /// Of task `task`, as far as the file has it. One process may have the file, and all go on from it.
    pub(super) fn open(file: Option<Partial>, processes: &Processes, task: usize) -> Result<Self, LearnError> {
        let bytes = file.as_ref().map_or(Ok(Vec::new()), Partial::bytes).map_err(LearnError::Checkpoint)?;
        let bytes = processes.broadcast_bytes(bytes)?;
        let path = file.as_ref().map_or_else(|| PathBuf::from("process 0"), |file| file.path().to_owned());
        let Contents { stages, pages } = match bytes.is_empty() {
            true => Contents::default(),
            false => Contents::parse(&path, &bytes, task).map_err(LearnError::Checkpoint)?,
        };
        let (processes, told) = (processes.clone(), Vec::new());
        let journal = Journal { task, processes, file, path, stages, begun: 0, pages, told, unwritten: false };
        Ok(Self(Rc::new(RefCell::new(journal))))
    }

    /// Whether the next stage began in the process before.
    pub(super) fn goes_on(&self) -> bool {
        let journal = self.0.borrow();
        journal.begun < journal.stages.len()
    }

    /// A stage of `of` epochs begins, or goes on: then everything that is changing is put back to where it was.
    pub(super) fn begin(
        &self,
        stage: &'static str,
        of: usize,
        changing: &Changing,
        data: &TaskData,
    ) -> Result<Open, LearnError> {
        let journal = &mut *self.0.borrow_mut();
        let place = journal.begun;
        journal.begun += 1;
        let Some(kept) = journal.stages.get(place) else {
            let about = AboutStage { stage: stage.to_owned(), next: 0, done: false, reads: false, told: Vec::new() };
            journal.stages.push(Kept { about, tensors: BTreeMap::new() });
            return Ok(Open { place, of, first: 0, told: Vec::new() });
        };
        let about = &kept.about;
        let damaged = |reason: String| {
            LearnError::Checkpoint(RunError::Damaged { path: journal.path.clone(), line: None, reason })
        };
        if about.stage != stage || about.next > of || about.done != (about.next == of) {
            return Err(damaged(format!("expected the stage `{stage}` of {of} epochs, found `{}`", about.stage)));
        }
        let wanted = changing.left.iter().chain(changing.meanwhile.iter().filter(|_| !about.done));
        for (name, tensor) in wanted.filter(|_| about.next > 0) {
            let stored = kept.tensors.get(name).filter(|stored| stored.size() == tensor.size());
            let stored = stored.ok_or_else(|| damaged(format!("expected the tensor `{name}` in its shape")))?;
            no_grad(|| tensor.shallow_clone().copy_(stored));
        }
        if about.reads {
            data.add_pages(&journal.pages).map_err(damaged)?;
        }
        Ok(Open { place, of, first: about.next, told: about.told.clone() })
    }

    /// Something was told of a stage.
    pub(super) fn note(&self, event: &Event<'_>) {
        self.0.borrow_mut().told.extend(Told::of(event));
    }

    /// So many epochs of a stage are done. Stages within them are part of it from here on. One that reads images says of which task.
    pub(super) fn epoch(
        &self,
        open: &Open,
        next: usize,
        changing: &Changing,
        reads: Option<&TaskData>,
    ) -> Result<(), LearnError> {
        let journal = &mut *self.0.borrow_mut();
        let done = next == open.of;
        if let Some(data) = reads.filter(|_| done) {
            // What is skipped next time is not read again.
            share_readings(&journal.processes, data)?;
        }
        let within = journal.stages.split_off(open.place + 1).into_iter().flat_map(|kept| kept.about.told);
        let told: Vec<Told> = within.chain(std::mem::take(&mut journal.told)).collect();
        journal.begun = open.place + 1;
        let Some(file) = &mut journal.file else { return Ok(()) };
        if let Some(data) = reads.filter(|_| done) {
            journal.stages.iter_mut().for_each(|kept| kept.about.reads = false);
            journal.pages = data.pages();
        }
        let kept = &mut journal.stages[open.place];
        kept.about.told.extend(told);
        (kept.about.next, kept.about.done, kept.about.reads) = (next, done, done && reads.is_some());
        let needed = changing.left.iter().chain(changing.meanwhile.iter().filter(|_| !done));
        // A copy of what goes on changing; once a stage is done, off the GPU.
        let copy = |tensor: &Tensor| match done {
            true => tensor.detach().to_device(Device::Cpu).copy(),
            false => tensor.detach().copy(),
        };
        kept.tensors = needed.map(|(name, tensor)| (name.clone(), copy(tensor))).collect();
        journal.unwritten = true;
        if file.is_due() { journal.write() } else { Ok(()) }
    }

    /// Somebody wants the task to stop: what is not written yet is, and the error says so.
    pub(super) fn stop(&self) -> LearnError {
        let journal = &mut *self.0.borrow_mut();
        journal.write().err().unwrap_or(LearnError::Interrupted { task: journal.task })
    }
}

impl Journal {
    fn write(&mut self) -> Result<(), LearnError> {
        if let Some(file) = self.file.as_mut().filter(|_| self.unwritten) {
            file.write(self.task, &self.stages, &self.pages).map_err(LearnError::Checkpoint)?;
            self.unwritten = false;
        }
        Ok(())
    }
}
