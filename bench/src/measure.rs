//! Taking times: in turns, and by the median.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

/// Something to be timed.
pub(super) type Action<'a> = &'a mut dyn FnMut() -> Result<()>;

/// Returns the median time of each action. Every round runs all of them, after
/// one that does not count.
pub(super) fn in_turns<const N: usize>(rounds: usize, mut actions: [Action<'_>; N]) -> Result<[Duration; N]> {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    for round in 0..=rounds {
        for (action, times) in actions.iter_mut().zip(&mut times) {
            let started = Instant::now();
            action()?;
            if round > 0 {
                times.push(started.elapsed());
            }
        }
    }
    Ok(times.map(median))
}

/// Returns the median times of each action in each of several passes. What is
/// measured in one pass was measured in one state of the machine.
pub(super) fn in_passes<const N: usize>(
    passes: usize,
    rounds: usize,
    mut actions: [Action<'_>; N],
) -> Result<Vec<[Duration; N]>> {
    (0..passes).map(|_| in_turns(rounds, actions.each_mut().map(|action| &mut **action as _))).collect()
}

/// Returns the median; zero of nothing.
pub(super) fn median(times: Vec<Duration>) -> Duration {
    median_of(times)
}

/// Returns the median of whatever has an order; the default of nothing.
pub(super) fn median_of<T: Copy + Default + Ord>(mut all: Vec<T>) -> T {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// Stores bytes durably: a temporary file, synced, renamed, and the directory
/// synced. The least that keeps an acknowledged change through a power failure.
pub(super) fn durable_write(directory: &Path, bytes: &[u8]) -> Result<()> {
    let (temporary, target) = (directory.join("probe.tmp"), directory.join("probe"));
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(temporary, target)?;
    File::open(directory)?.sync_all()?;
    Ok(())
}

/// Runs a command to its end with nothing on its streams.
pub(super) fn spawn(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// Runs a command and reads what it writes.
pub(super) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_median_is_the_time_in_the_middle() {
        let times = [9, 1, 5].map(Duration::from_millis).to_vec();
        assert_eq!(median(times), Duration::from_millis(5));
    }

    #[test]
    fn actions_run_in_turns_and_the_first_round_does_not_count() {
        let order = std::cell::RefCell::new(String::new());
        let note = |letter| {
            order.borrow_mut().push(letter);
            Ok(())
        };
        let (mut left, mut right) = (|| note('a'), || note('b'));
        in_turns(2, [&mut left, &mut right]).unwrap();
        assert_eq!(*order.borrow(), "ababab");
    }
}
