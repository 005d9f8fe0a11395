//! People at eight terminals, who give a run commands at random.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use samuel_core::{
    engine::{LiveError, LiveRun, RunBuilder},
    model::{ExitReason, LiveState},
};

/// How many terminals there are.
pub(crate) const TERMINALS: u64 = 8;

/// How somebody finds the run that is under way.
pub(crate) type Find = dyn Fn() -> Result<LiveRun, LiveError> + Send + Sync;

/// Returns how many commands are given: so many, or a thousand where a suite may take long.
pub(crate) fn commands(in_short: u64) -> u64 {
    if std::env::var_os("SAMUEL_LONG").is_some() { 1_000 } else { in_short }
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Decides on a tool call that waits, where one does.
fn decide(run: &LiveRun, approves: bool) -> Result<LiveState, LiveError> {
    let state = run.look()?;
    match state.approvals.first().map(|waiting| waiting.call) {
        Some(call) if approves => run.approve(Some(call), None),
        Some(call) => run.deny(Some(call), Some("not that one")),
        None => Ok(state),
    }
}

/// Gives commands at random, each behind the one before, and holds the loop with none of them.
fn terminal(find: &Find, number: u64, commands: u64) {
    let mut dice = Dice(number);
    let mut given = 0;
    while given < commands {
        // Between two runs there is none.
        let Ok(run) = find() else {
            std::thread::yield_now();
            continue;
        };
        let told = match dice.roll(23) {
            0..5 => run.pause(),
            5..11 => run.resume(None),
            11..14 => run.steer("mind the gap"),
            14..16 => run.resume(Some("go on")),
            16 => run.cancel(),
            17 => run.stop(),
            18 => run.attach().map(|attached| attached.state().clone()),
            19..21 => decide(&run, true),
            21 => decide(&run, false),
            _ => run.look(),
        };
        given += u64::from(told.is_ok());
        let _ = run.resume(None);
    }
}

/// Approves what waits until somebody says that it is enough, so that no call waits for good.
fn approver(find: &Find, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let _ = find().and_then(|run| decide(&run, true));
        std::thread::yield_now();
    }
}

/// Makes one run after the other while commands are given, until one completes all, and returns how many there were. The
/// file `enough` is made once all was said.
pub(crate) async fn completes_meanwhile(
    find: Arc<Find>,
    commands: u64,
    enough: PathBuf,
    run: impl Fn() -> RunBuilder,
) -> u32 {
    let terminals = (0..TERMINALS).map(|number| {
        let find = Arc::clone(&find);
        std::thread::spawn(move || terminal(&*find, number, commands / TERMINALS))
    });
    let terminals: Vec<_> = terminals.collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let approves = {
        let (find, is_over) = (Arc::clone(&find), Arc::clone(&is_over));
        std::thread::spawn(move || approver(&*find, &is_over))
    };
    let joined = tokio::task::spawn_blocking(move || {
        let all = terminals.into_iter().all(|thread| thread.join().is_ok());
        std::fs::write(enough, "").unwrap();
        all
    });
    let played = async {
        let mut runs = 0;
        loop {
            runs += 1;
            let report = run().build().unwrap().start().await.unwrap().wait().await.unwrap();
            match report.exit_reason {
                ExitReason::Completed => return runs,
                ExitReason::Cancelled => {}
                other => panic!("{other}: {:?}", report.detail),
            }
        }
    };
    let limit = Duration::from_secs(if commands >= 1_000 { 1_200 } else { 180 });
    let runs = tokio::time::timeout(limit, played).await.expect("the loop does not hang");
    assert!(joined.await.unwrap());
    is_over.store(true, Ordering::Relaxed);
    tokio::task::spawn_blocking(move || approves.join().unwrap()).await.unwrap();
    runs
}
