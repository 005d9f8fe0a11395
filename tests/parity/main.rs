//! The behaviour table: what handlers do, and what must come of it.
//!
//! The rows are data (`rows/*.toml`): a point, a configuration, what each
//! handler does, and everything that must come of it. A [`Tier`] turns the
//! behaviours into real handlers, so that one table holds for every kind of
//! handler; another tier joins with an adapter and no rows of its own. Each
//! row on each tier is one test.
//!
//! `run.toml` holds rows of whole runs, the other files rows of one dispatch.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed set-up fails the test")]

mod dispatch;
mod point;
mod row;
mod run;
mod rust;
mod tier;

use std::{fs, path::Path, process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Failed, Trial};
use serde::de::DeserializeOwned;

use row::{DispatchRow, RunRow, Table};
use tier::Tier;

/// The kinds of handlers that the table is checked with.
fn tiers() -> Vec<Arc<dyn Tier>> {
    vec![Arc::new(rust::RustAsync), Arc::new(rust::RustBlocking)]
}

fn main() -> ExitCode {
    let mut trials = Vec::new();
    let mut files: Vec<_> = fs::read_dir(rows())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    for file in files.iter().filter(|file| file.ends_with(".toml") && *file != "run.toml") {
        for row in read::<DispatchRow>(file) {
            add(&mut trials, file, &row.name.clone(), move |tier| dispatch::check(&row, tier));
        }
    }
    for row in read::<RunRow>("run.toml") {
        add(&mut trials, "run.toml", &row.name.clone(), move |tier| run::check(&row, tier));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn add(
    trials: &mut Vec<Trial>,
    file: &str,
    name: &str,
    check: impl Fn(&dyn Tier) -> Result<(), String> + Send + Sync + 'static,
) {
    let check = Arc::new(check);
    for tier in tiers() {
        let name = format!("{}::{}::{name}", tier.name(), file.trim_end_matches(".toml"));
        let check = Arc::clone(&check);
        trials.push(Trial::test(name, move || check(&*tier).map_err(Failed::from)));
    }
}

fn rows() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/parity/rows"))
}

fn read<R: DeserializeOwned>(file: &str) -> Vec<R> {
    let text = fs::read_to_string(rows().join(file)).unwrap();
    let table: Table<R> = toml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    table.row
}
