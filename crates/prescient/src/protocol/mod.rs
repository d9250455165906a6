//! The rules of the setting: what a task may read (the seal), what it did read (the ledger), and what is held out.

mod held_out;
mod ledger;
mod seal;

pub use held_out::HeldOut;
pub use ledger::{Reading, Usage};
pub use seal::{Sealed, TaskData};
