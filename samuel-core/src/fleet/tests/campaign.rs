//! Plans that a fleet works on while its processes are killed, stopped and cut off and its log loses answers, stores
//! records twice and late: each ends by itself, what landed stays, and nothing lands twice.
//!
//! `SAMUEL_LONG=1` plays all schedules, `SAMUEL_SEED=n` one of them.

use std::{env, thread};

use super::world::{Mutant, Totals, World};

/// How many schedules are played in the long form, and in the short one.
const SCHEDULES: [u64; 2] = [10_000, 200];
/// Within how many of them a mutant must be caught.
const MUTANT_SCHEDULES: u64 = 1_000;
/// How many threads play.
const THREADS: u64 = 2;

fn add(sum: Totals, next: Totals) -> Totals {
    Totals {
        tasks: sum.tasks + next.tasks,
        records: sum.records + next.records,
        runs: sum.runs + next.runs,
        kills: sum.kills + next.kills,
        stops: sum.stops + next.stops,
        cuts: sum.cuts + next.cuts,
        lost: sum.lost + next.lost,
        drained: sum.drained + next.drained,
        failed: sum.failed + next.failed,
        ticks: sum.ticks + next.ticks,
    }
}

fn play(seeds: impl Iterator<Item = u64>) -> Totals {
    seeds.fold(Totals::default(), |sum, seed| {
        let mut world = World::new(seed, Mutant::None);
        if let Err(broken) = world.run() {
            panic!("schedule {seed}: {broken}");
        }
        add(sum, world.totals)
    })
}

#[test]
fn every_plan_ends_by_itself_with_nothing_lost_and_nothing_landed_twice() {
    if let Some(seed) = env::var("SAMUEL_SEED").ok().and_then(|seed| seed.parse().ok()) {
        println!("schedule {seed}: {:?}", play(std::iter::once(seed)));
        return;
    }
    let [long, short] = SCHEDULES;
    let schedules = if env::var_os("SAMUEL_LONG").is_some() { long } else { short };
    let totals = thread::scope(|scope| {
        let player = |thread: u64| scope.spawn(move || play((thread..schedules).step_by(THREADS as usize)));
        let players: Vec<_> = (0..THREADS).map(player).collect();
        players.into_iter().fold(Totals::default(), |sum, player| add(sum, player.join().unwrap()))
    });
    println!("{schedules} schedules, acknowledged landings lost 0, twice 0: {totals:?}");
    assert!(
        totals.kills > schedules && totals.stops > schedules / 2 && totals.cuts > schedules / 2,
        "{totals:?}"
    );
    assert!(totals.drained > schedules / 4 && totals.failed > schedules / 10, "{totals:?}");
    assert!(totals.runs > totals.tasks && totals.lost > schedules / 10, "{totals:?}");
}

#[test]
fn a_schedule_is_the_same_each_time_it_is_played() {
    for seed in [1, 2, 3] {
        assert_eq!(play(std::iter::once(seed)), play(std::iter::once(seed)));
    }
}

fn is_caught(mutant: Mutant, expected: &str) {
    let caught = (0..MUTANT_SCHEDULES).find_map(|seed| {
        let broken = World::new(seed, mutant).run().err()?;
        Some((seed, broken))
    });
    let (seed, broken) =
        caught.unwrap_or_else(|| panic!("{mutant:?} was caught in none of {MUTANT_SCHEDULES}"));
    println!("{mutant:?} is caught by schedule {seed}: {broken}");
    assert!(broken.contains(expected), "{mutant:?} is caught by something else in schedule {seed}: {broken}");
}

#[test]
fn a_fold_that_compares_no_tokens_is_caught() {
    is_caught(Mutant::NoToken, "who was there all the time");
}

#[test]
fn a_judge_that_does_not_rest_after_a_stop_is_caught() {
    is_caught(Mutant::NoRest, "who was there all the time");
}

#[test]
fn work_that_is_submitted_before_it_was_pushed_is_caught() {
    is_caught(Mutant::SubmitFirst, "cannot be fetched");
}

#[test]
fn a_landing_without_compare_and_set_is_caught() {
    is_caught(Mutant::NoCompare, "and it is lost");
}

#[test]
fn an_outcome_of_a_copy_that_is_taken_for_the_first_ones_is_caught() {
    is_caught(Mutant::RepeatedTells, "and the log has");
}

#[test]
fn claims_that_nobody_audits_keep_a_plan_from_ending_and_are_caught() {
    is_caught(Mutant::NoAudit, "does not end");
}
