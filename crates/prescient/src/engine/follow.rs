//! Who follows a training epoch by epoch, and may put it back to where another process was.

use tch::Tensor;

/// What a training changes, by name. The tensors are those that it works on, not copies.
#[derive(Debug, Default)]
pub struct Changing {
    /// What it leaves when it is done.
    pub left: Vec<(String, Tensor)>,
    /// What it needs to go on after an epoch, beside that.
    pub meanwhile: Vec<(String, Tensor)>,
}

/// Follows a training.
pub trait Follow {
    /// It is about to begin. Comes back with the epoch to begin with, from 0; everything that is changing is as it was then.
    fn begin(&mut self, changing: &Changing) -> usize;

    /// So many epochs are done, the last one with this loss. Comes back with whether to go on.
    fn epoch(&mut self, done: usize, loss: f64, changing: &Changing) -> bool;
}

/// Is told of each epoch, from 1, and its loss.
impl<F: FnMut(usize, f64)> Follow for F {
    fn begin(&mut self, _: &Changing) -> usize {
        0
    }

    fn epoch(&mut self, done: usize, loss: f64, _: &Changing) -> bool {
        self(done, loss);
        true
    }
}
