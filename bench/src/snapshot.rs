//! How long the snapshot of a large repository takes.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use samuel_core::{
    snapshot::{SnapshotOptions, take_snapshot},
    state::RunDir,
};

use super::{
    fixture,
    gate::{Gate, milliseconds},
    measure::{in_turns, output},
};

const FILES: usize = 100_000;
const ROUNDS: usize = 11;
/// How long counting everything may take.
const FILLING: Duration = Duration::from_secs(300);

/// Measures a snapshot whose counts are all cached, beside `git ls-files`.
pub(super) fn measure() -> Result<Gate> {
    let root = fixture::kept_repository(FILES)?;
    ensure!(fixture::tracked(&root)? > FILES, "the repository is not complete");
    let cache = RunDir::new(&root).cache();
    if cache.exists() {
        fs::remove_dir_all(&cache)?;
    }
    fs::create_dir_all(&cache)?;
    let options =
        SnapshotOptions { cache_dir: Some(cache), ..SnapshotOptions::new("2026-01-01T00:00:00Z".parse()?) };

    let started = Instant::now();
    let cold = take_snapshot(&root, &options)?;
    let mut notes =
        vec![format!("cold {}: {}", milliseconds(started.elapsed()), cold.summary.notes.join("; "))];
    let started = Instant::now();
    let full = take_snapshot(&root, &SnapshotOptions { time_box: FILLING, ..options.clone() })?;
    let uncounted = full.summary.notes.iter().find(|note| note.contains("could not be counted"));
    ensure!(uncounted.is_none(), "{uncounted:?}");
    notes.push(format!("the rest, without a time box: {}", milliseconds(started.elapsed())));
    let mut warm = || take_snapshot(&root, &options).map(drop).map_err(Into::into);
    let mut list = || output(fixture::git(&root).args(["ls-files", "-z"])).map(drop);
    let [took, probe_took] = in_turns(ROUNDS, [&mut warm, &mut list])?;
    Ok(Gate {
        name: "warm snapshot, 100,000 files",
        took,
        probe: "git ls-files".to_owned(),
        probe_took,
        limit: 2.0,
        notes,
    })
}
