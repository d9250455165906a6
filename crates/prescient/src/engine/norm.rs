//! Lengths of vectors, with a slope everywhere.

use tch::{Kind, Tensor};

/// The Euclidean norm of each row, `[rows, 1]`.
///
/// Clamped under the root: at a zero row the root has no slope, and autograd would answer NaN.
pub fn norm(rows: &Tensor) -> Tensor {
    let squares = rows.square().sum_dim_intlist([-1i64].as_slice(), true, None::<Kind>);
    squares.clamp_min(1e-12).sqrt()
}

/// Each row, scaled to length 1.
pub fn unit_rows(rows: &Tensor) -> Tensor {
    rows / norm(rows)
}
