//! How long the program takes to start.

use std::process::Command;

use anyhow::Result;

use super::{
    built,
    gate::Gate,
    measure::{in_turns, spawn},
};

const ROUNDS: usize = 101;

/// Measures `samuel --version` beside `true`.
pub(super) fn measure() -> Result<Gate> {
    let samuel = built("samuel")?;
    let mut version = || spawn(Command::new(&samuel).arg("--version"));
    let mut nothing = || spawn(&mut Command::new("true"));
    let [took, probe_took] = in_turns(ROUNDS, [&mut version, &mut nothing])?;
    Ok(Gate {
        name: "samuel --version",
        took,
        probe: "spawn of true".to_owned(),
        probe_took,
        limit: 4.0,
        notes: Vec::new(),
    })
}
