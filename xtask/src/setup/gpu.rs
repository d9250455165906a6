//! Whether there is an NVIDIA GPU, as its driver's own tool tells.

use std::process::Stdio;

use crate::environment::Environment;

/// `nvidia-smi` may be installed without a driver or a card, so it must also name one.
pub(super) fn present(environment: &Environment) -> bool {
    let Some(tool) = environment.program("nvidia-smi") else {
        return false;
    };
    let answer = environment.command(tool).arg("-L").stdin(Stdio::null()).output();
    answer.is_ok_and(|answer| {
        answer.status.success() && String::from_utf8_lossy(&answer.stdout).lines().any(|line| line.starts_with("GPU "))
    })
}
