//! The behaviour table: what handlers do, and what must come of it.
//!
//! The rows are data (`rows/*.toml`): a point, a configuration, what each
//! handler does, and everything that must come of it. A [`Tier`] turns the
//! behaviours into real handlers, so that one table holds for every kind of
//! handler; another tier joins with an adapter and no rows of its own. Each
//! row on each tier is one test. Every row applies to every tier, but for what its
//! handlers have no word for, which is said in its adapter ([`Tier::can`]). A tier that
//! cannot run on this machine is one ignored test with the reason. The tiers in Python play the same rows, in
//! `bindings/python/tests/test_parity.py`.
//!
//! `run.toml` holds rows of whole runs, the other files rows of one dispatch. Those at the points
//! of a session are played once more by a caller of a session. A handler of each tier also decides what
//! the hook of an agent asks a run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed set-up fails the test")]

mod bridged;
mod dispatch;
#[cfg(target_os = "linux")]
mod oci;
mod point;
mod row;
mod run;
mod rust;
mod session;
mod shell;
mod skill;
mod tier;
mod wasm;

use std::{fs, path::Path, process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde::de::DeserializeOwned;

use dispatch::point_of;
use row::{DispatchRow, RunRow, Table};
use tier::Tier;

/// The kinds of handlers that the table is checked with.
fn tiers() -> Vec<Arc<dyn Tier>> {
    vec![
        Arc::new(rust::RustAsync),
        Arc::new(rust::RustBlocking),
        Arc::new(skill::Skill),
        Arc::new(shell::Shell),
        Arc::new(wasm::Wasm),
        #[cfg(target_os = "linux")]
        Arc::new(oci::Serving),
        #[cfg(target_os = "linux")]
        Arc::new(oci::Called),
    ]
}

fn main() -> ExitCode {
    let mut trials = Vec::new();
    let (tiers, missing): (Vec<_>, Vec<_>) = tiers().into_iter().partition(|tier| tier.missing().is_none());
    for tier in missing {
        let reason = tier.missing().unwrap_or_default();
        trials.push(Trial::ignorable_test(tier.name(), || Ok(Completion::ignored_with(reason))));
    }
    let mut files: Vec<_> = fs::read_dir(rows())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    for file in files.iter().filter(|file| file.ends_with(".toml") && *file != "run.toml") {
        let can =
            |row: &DispatchRow, tier: &dyn Tier| row.handlers.iter().all(|one| tier.can(row.point, one));
        add(&mut trials, &tiers, file, can, |row: &DispatchRow| row.name.clone(), dispatch::check);
        // The same, fired by whoever has a session.
        let can = move |row: &DispatchRow, tier: &dyn Tier| session::fires(row) && can(row, tier);
        let name = |row: &DispatchRow| format!("in a session: {}", row.name);
        add(&mut trials, &tiers, file, can, name, session::check);
    }
    let can = |row: &RunRow, tier: &dyn Tier| row.handlers.iter().all(|one| tier.can(point_of(one), one));
    add(&mut trials, &tiers, "run.toml", can, |row: &RunRow| row.name.clone(), run::check);
    for tier in tiers {
        let name = format!("{}::asked by the hook of an agent, over the run socket", tier.name());
        trials.push(Trial::test(name, move || bridged::check(&*tier).map_err(Failed::from)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Adds a test for each tier and each row of a file that it can play.
fn add<R: DeserializeOwned + Send + Sync + 'static>(
    trials: &mut Vec<Trial>,
    tiers: &[Arc<dyn Tier>],
    file: &str,
    can: impl Fn(&R, &dyn Tier) -> bool,
    name: impl Fn(&R) -> String,
    check: fn(&R, &dyn Tier) -> Result<(), String>,
) {
    for tier in tiers {
        for row in read::<R>(file, &**tier).into_iter().filter(|row| can(row, &**tier)) {
            let name = format!("{}::{}::{}", tier.name(), file.trim_end_matches(".toml"), name(&row));
            let tier = Arc::clone(tier);
            trials.push(Trial::test(name, move || check(&row, &*tier).map_err(Failed::from)));
        }
    }
}

fn rows() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/parity/rows"))
}

/// Reads a file of rows in the words of a tier.
fn read<R: DeserializeOwned>(file: &str, tier: &dyn Tier) -> Vec<R> {
    let text = fs::read_to_string(rows().join(file)).unwrap();
    let text = tier.words().iter().fold(text, |text, (word, own)| text.replace(word, own));
    let table: Table<R> = toml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    table.row
}
