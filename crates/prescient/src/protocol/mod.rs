//! The rules of the setting: what a task may read (the seal), what it did read (the ledger), what is held out, and what is
//! left where photos are few.

mod few_shots;
mod held_out;
mod ledger;
mod merge;
mod seal;

pub use few_shots::FewShots;
pub use held_out::HeldOut;
pub use ledger::{Reading, Usage};
pub use seal::{Sealed, TaskData};
