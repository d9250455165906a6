//! The command `prescient`: parse, dispatch, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    prescient_cli::main()
}
