//! What every log does, for whoever writes one.
//!
//! [`plan_log`] goes through the contract of [`PlanLog`] case by case, each with a new log without records, and
//! panics at the first that is broken: with the name of the case in the backtrace.
//!
//! ```
//! use std::sync::Arc;
//! use samuel_state::testing::{MemoryLog, log_suite};
//!
//! log_suite::plan_log(|| Arc::new(MemoryLog::new()));
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a suite panics where a log breaks its contract"
)]

use std::{
    collections::BTreeSet,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tokio::{runtime::Builder, time::timeout};

use crate::{LogError, MAX_LOG_RECORD_BYTES, PlanLog, Watch};

/// How long nothing takes that happens at all.
const HANG: Duration = Duration::from_secs(20);
/// How many times a record is offered that a log does not acknowledge.
const ATTEMPTS: usize = 50;

/// Goes through the contract of a [`PlanLog`]. `open` gives a new one without records.
///
/// # Panics
/// Where the log breaks the contract.
pub fn plan_log(mut open: impl FnMut() -> Arc<dyn PlanLog>) {
    let cases: &[fn(&dyn PlanLog)] = &[
        a_log_without_records_has_none,
        what_is_appended_is_read_in_its_order_by_numbers_that_grow,
        a_read_ends_where_it_is_told_to,
        any_bytes_are_a_record_and_the_largest_is_whole,
        what_several_append_at_once_is_all_there_in_one_order,
        whoever_watches_is_told_of_what_came_and_of_what_comes,
        a_deadline_that_is_over_ends_the_wait,
    ];
    cases.iter().for_each(|case| case(&*open()));
}

/// Appends a record until that is acknowledged.
fn append(log: &dyn PlanLog, record: &[u8]) -> u64 {
    let appended = (0..ATTEMPTS).find_map(|_| match log.append(record, Instant::now() + HANG) {
        Ok(number) => Some(number),
        Err(error) if error.is_transient() => None,
        Err(error) => unreachable!("{error}"),
    });
    appended.unwrap()
}

fn a_log_without_records_has_none(log: &dyn PlanLog) {
    assert_eq!((log.head().unwrap(), log.read(0, 10).unwrap()), (0, Vec::new()));
}

fn what_is_appended_is_read_in_its_order_by_numbers_that_grow(log: &dyn PlanLog) {
    let numbers: Vec<u64> = ["one", "two", "three"].map(|record| append(log, record.as_bytes())).into();
    assert!(numbers.is_sorted_by(|one, next| one < next) && numbers[0] > 0, "{numbers:?}");
    let read = log.read(0, 100).unwrap();
    // A record may be there more often than it was acknowledged.
    let place = |number: &u64| read.iter().position(|(read, _)| read == number).unwrap();
    let words: Vec<&[u8]> = numbers.iter().map(|number| &read[place(number)].1[..]).collect();
    assert_eq!(words, [b"one".as_slice(), b"two", b"three"]);
    assert!(read.is_sorted_by(|one, next| one.0 < next.0));
    assert_eq!(log.head().unwrap(), read.last().unwrap().0);
    assert_eq!(log.read(0, 100).unwrap(), read, "it reads the same again");
    let after: Vec<_> = read.iter().filter(|(number, _)| *number > numbers[0]).cloned().collect();
    assert_eq!(log.read(numbers[0], 100).unwrap(), after);
    assert_eq!(log.read(log.head().unwrap(), 100).unwrap(), []);
}

fn a_read_ends_where_it_is_told_to(log: &dyn PlanLog) {
    for n in 0..7_u8 {
        append(log, &[n]);
    }
    let all = log.read(0, 100).unwrap();
    let (mut after, mut read) = (0, Vec::new());
    loop {
        let some = log.read(after, 3).unwrap();
        assert!(some.len() <= 3);
        let is_last = some.len() < 3;
        after = some.last().map_or(after, |(number, _)| *number);
        read.extend(some);
        if is_last {
            break;
        }
    }
    assert_eq!(read, all);
}

fn any_bytes_are_a_record_and_the_largest_is_whole(log: &dyn PlanLog) {
    let largest = vec![b'x'; MAX_LOG_RECORD_BYTES];
    for record in [&[0, 0xff, b'\n', 0][..], b"{\"format\":99}", &largest] {
        let number = append(log, record);
        assert!(log.read(number - 1, 1).unwrap() == [(number, record.to_vec())]);
    }
}

fn what_several_append_at_once_is_all_there_in_one_order(log: &dyn PlanLog) {
    let numbers: BTreeSet<u64> = thread::scope(|scope| {
        let writer =
            |name: u8| scope.spawn(move || (0..10_u8).map(|n| append(log, &[name, n])).collect::<Vec<_>>());
        let writers: Vec<_> = (0..4).map(writer).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(numbers.len(), 40, "each has a number of its own");
    let read = log.read(0, 10_000).unwrap();
    for name in 0..4_u8 {
        let theirs = read.iter().filter(|(number, bytes)| bytes[0] == name && numbers.contains(number));
        let order: Vec<u8> = theirs.map(|(_, bytes)| bytes[1]).collect();
        assert_eq!(order, (0..10).collect::<Vec<u8>>(), "who waits for one appends the next after it");
    }
}

fn is_told(watch: &mut Watch) -> bool {
    // Whoever calls the suite may be within a runtime, where no other one can be waited for.
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let runtime = Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async { timeout(HANG, watch.changed()).await })
        });
        waiter.join().unwrap() == Ok(true)
    })
}

fn whoever_watches_is_told_of_what_came_and_of_what_comes(log: &dyn PlanLog) {
    let first = append(log, b"one");
    assert!(is_told(&mut log.watch(first - 1).unwrap()), "what is there already");
    let mut watch = log.watch(log.head().unwrap()).unwrap();
    append(log, b"two");
    assert!(is_told(&mut watch), "what comes");
}

fn a_deadline_that_is_over_ends_the_wait(log: &dyn PlanLog) {
    let began = Instant::now();
    match log.append(b"late", began) {
        Ok(_) | Err(LogError::Unreachable { .. }) => {}
        Err(error) => unreachable!("{error}"),
    }
    assert!(began.elapsed() < HANG);
}
