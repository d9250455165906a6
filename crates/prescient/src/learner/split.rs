//! Work that several processes have split, put together again.

use crate::class::Slot;
use crate::engine::Processes;
use crate::error::{LearnError, ProcessError};
use crate::evaluation::Best;
use crate::protocol::TaskData;

/// Every process learns what all have read so far.
pub(crate) fn share_readings(processes: &Processes, data: &TaskData) -> Result<(), LearnError> {
    if processes.count() == 1 {
        return Ok(());
    }
    let merge = |pages: Vec<u8>| {
        data.add_pages(&pages).map_err(|reason| ProcessError::Broken { doing: "sharing what was read", reason })
    };
    Ok(processes.gather_bytes(data.pages())?.into_iter().try_for_each(merge)?)
}

/// The numbers of process 0, then those of process 1, …
pub(super) fn gathered_numbers(processes: &Processes, numbers: Vec<f32>) -> Result<Vec<f32>, LearnError> {
    if processes.count() == 1 {
        return Ok(numbers);
    }
    let bytes = processes.gather_bytes(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())?.concat();
    Ok(words(&bytes).map(f32::from_le_bytes).collect())
}

/// The same for slots.
pub(super) fn gathered_slots(processes: &Processes, slots: Vec<Slot>) -> Result<Vec<Slot>, LearnError> {
    if processes.count() == 1 {
        return Ok(slots);
    }
    let bytes = processes.gather_bytes(slots.iter().flat_map(|slot| slot.0.to_le_bytes()).collect())?.concat();
    Ok(words(&bytes).map(|word| Slot(u32::from_le_bytes(word))).collect())
}

/// The same for answers.
pub(super) fn gathered_best(processes: &Processes, best: Best) -> Result<Best, LearnError> {
    Ok(Best { slots: gathered_slots(processes, best.slots)?, scores: gathered_numbers(processes, best.scores)? })
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.chunks_exact(4).map(|word| word.try_into().expect("four bytes"))
}
