//! What was asked for. Three verbs and two flags do not need a parser that takes longer to build than the rest.

use crate::bench;
use crate::error::Error;
use crate::setup::Wish;

/// What `cargo xtask --help` prints.
pub(crate) const USAGE: &str = "\
The project's own commands. Each first makes sure that libtorch 2.11.0 is there.

Usage: cargo xtask <command>

Commands:
  setup         find libtorch, or fetch it once (0.5 GB; 4.7 GB with an NVIDIA GPU), and link `.libtorch` to it
  demo [args]   build the program and show it at work: `prescient demo [args]`
  test          what CI runs: formatting, clippy, all tests, the documentation
  bench         our half of the benchmarks against plain PyTorch, in turns; writes docs/bench/DATE-cpu.md

Options of setup:
  --cpu         the CPU part, even where there is a GPU
  --gpu         the CUDA part, even where no GPU is seen

Options of bench:
  --gpu         the contests for a GPU
  --only PART   contests whose name has PART in it

Environment:
  LIBTORCH          a libtorch 2.11.0 of your own; it is used as it is
  PEER_PYTHON       a Python with torch 2.11 and scikit-learn, for bench (default: python3)
  BENCH_TURNS       turns of each contest (default: 9)
  BENCH_WITHOUT     leaves out peers whose name has this in it, such as torch.compile, which takes minutes
  PRESCIENT_CACHE   where libtorch is kept (default: `$XDG_CACHE_HOME/prescient`, else `~/.cache/prescient`)

Examples:
  cargo xtask demo
  cargo xtask setup --cpu
  LIBTORCH=~/libtorch cargo xtask test

`docs/guide/setup.md` says what set-up does, how it works offline, and how to remove it.";

/// One command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Help,
    Setup(Wish),
    /// With what is handed on to the program.
    Demo(Vec<String>),
    Test,
    Bench(bench::Wish),
}

/// Reads the arguments after the program's name.
pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Request, Error> {
    let mut args = args.into_iter();
    let Some(verb) = args.next() else {
        return Ok(Request::Help);
    };
    // All that follows `demo` belongs to the program, `--help` too.
    if verb == "demo" {
        return Ok(Request::Demo(args.collect()));
    }
    let rest: Vec<String> = args.collect();
    if rest.iter().any(|arg| arg == "--help" || arg == "-h") {
        return Ok(Request::Help);
    }
    match (verb.as_str(), rest.as_slice()) {
        ("help" | "--help" | "-h", _) => Ok(Request::Help),
        ("setup", []) => Ok(Request::Setup(Wish::Whichever)),
        ("setup", [flag]) if flag == "--cpu" => Ok(Request::Setup(Wish::Cpu)),
        ("setup", [flag]) if flag == "--gpu" => Ok(Request::Setup(Wish::Cuda)),
        ("test", []) => Ok(Request::Test),
        ("bench", flags) => {
            let mut wish = bench::Wish::default();
            let mut flags = flags.iter();
            while let Some(flag) = flags.next() {
                match (flag.as_str(), flags.as_slice().first()) {
                    ("--gpu", _) => wish.gpu = true,
                    ("--only", Some(part)) => {
                        wish.only = Some(part.clone());
                        flags.next();
                    }
                    _ => return Err(Error::Argument { verb, argument: flag.clone() }),
                }
            }
            Ok(Request::Bench(wish))
        }
        ("setup" | "test", [first, ..]) => {
            let stray = rest.get(1).filter(|_| first == "--cpu" || first == "--gpu").unwrap_or(first);
            Err(Error::Argument { verb, argument: stray.clone() })
        }
        _ => Err(Error::Command { verb }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Request, Error> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn each_verb_is_known() {
        assert_eq!(of("setup").expect("known"), Request::Setup(Wish::Whichever));
        assert_eq!(of("setup --cpu").expect("known"), Request::Setup(Wish::Cpu));
        assert_eq!(of("setup --gpu").expect("known"), Request::Setup(Wish::Cuda));
        assert_eq!(of("test").expect("known"), Request::Test);
        assert_eq!(of("bench").expect("known"), Request::Bench(bench::Wish::default()));
        let wish = bench::Wish { gpu: true, only: Some("MMD".to_owned()) };
        assert_eq!(of("bench --only MMD --gpu").expect("known"), Request::Bench(wish));
        assert_eq!(of("bench --only").expect_err("no part").to_string(), "`bench` does not take `--only`");
        for help in ["", "help", "--help", "-h", "test --help", "setup --cpu -h"] {
            assert_eq!(of(help).expect("known"), Request::Help, "`{help}`");
        }
    }

    #[test]
    fn what_follows_demo_belongs_to_the_program() {
        let request = of("demo --seed 3 --help").expect("known");
        assert_eq!(request, Request::Demo(["--seed", "3", "--help"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_typo_is_named() {
        assert_eq!(of("tset").expect_err("a typo").to_string(), "there is no command `tset`");
        assert_eq!(of("setup --gpuu").expect_err("a typo").to_string(), "`setup` does not take `--gpuu`");
        assert_eq!(of("setup --cpu --gpu").expect_err("both").to_string(), "`setup` does not take `--gpu`");
        assert_eq!(of("test --fast").expect_err("no flag").to_string(), "`test` does not take `--fast`");
    }
}
