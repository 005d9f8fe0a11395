//! Tasks of the workspace: `cargo xtask <task>`.
//!
//! `test` is the one test command; `bench` measures what has a gate. Each task
//! is a module with a `run` that takes the arguments after its name.
#![allow(clippy::print_stdout, reason = "a task reports to the terminal")]

mod bench;
mod ci;
mod contract;
mod deny;
mod guest;
mod manifests;
mod python;
mod test;
mod wheel;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
usage: cargo xtask <task>

  test [--long] [WORD..]
                     run all checks and tests, or the steps, packages and tests
                     that the words name; --long adds the suites that take long
  ci                 what CI runs: .ci/run
  contract [--check] what follows from wit/: records, tables, documentation
  guest              the first process of containers, linked statically
  wheel              the wheel of the Python package, by maturin
  bench <name>       measures an optimized build; without a name lists them
  toon-oracle        compares the TOON codec with the reference, from npm
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    let Some((task, args)) = args.split_first() else {
        print!("{HELP}");
        return Ok(());
    };
    match task.as_str() {
        "test" => test::run(args),
        "ci" => ci::run(args),
        "contract" => contract::run(args),
        "guest" => guest::run(args),
        "wheel" => wheel::run(args),
        "bench" => bench::run(args),
        "toon-oracle" => bench::toon_oracle(args),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        _ => bail!("there is no task \"{task}\"\n\n{HELP}"),
    }
}
