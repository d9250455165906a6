//! The project's own commands: `cargo xtask setup | demo | test | bench`.
//!
//! This program does not depend on libtorch, for it is the one that finds or fetches it.

mod args;
mod bench;
mod browser;
mod debian;
mod environment;
mod error;
mod setup;
mod steps;
mod weights;

use std::process::ExitCode;

use args::{Request, USAGE};
use environment::Environment;
use error::Error;

fn main() -> ExitCode {
    let outcome = args::parse(std::env::args().skip(1)).and_then(|request| carry_out(&request));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}\n\nhint: {}", error.hint());
            ExitCode::from(error.exit_code())
        }
    }
}

fn carry_out(request: &Request) -> Result<(), Error> {
    if let Request::Help = request {
        println!("{USAGE}");
        return Ok(());
    }
    let environment = Environment::of_this_process()?;
    match request {
        Request::Help => Ok(()),
        Request::Setup(wish) => setup::ensure(&environment, *wish).map(drop),
        Request::Demo(args) => {
            let libtorch = setup::ensure(&environment, setup::Wish::Whichever)?;
            steps::demo(&environment, &libtorch, args)
        }
        Request::Bench(wish) => {
            let libtorch = setup::ensure(&environment, setup::Wish::Whichever)?;
            bench::bench(&environment, &libtorch, wish)
        }
        Request::Test => {
            let libtorch = setup::ensure(&environment, setup::Wish::Whichever)?;
            browser::ensure(&environment);
            debian::ensure_fashion_mnist(&environment);
            steps::test(&environment, &libtorch)
        }
    }
}
