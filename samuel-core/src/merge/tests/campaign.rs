//! Plans of tasks that conflict, fail and clash, with a merger that is killed between any two steps, or stalls
//! there and moves the branch once another one is at work, and others who push, release and submit meanwhile.
//! `SAMUEL_LONG=1` goes through all plans.

use super::world::{MAX_ATTEMPTS, Mutant, Nature, World};
use crate::testing::Seeded;

/// How many plans are gone through, and in the long form.
const PLANS: u64 = 500;
const ALL_PLANS: u64 = 2_000;
/// How many of them a mutant may survive.
const MUTANT_PLANS: u64 = 400;

fn world(seed: u64, mutant: Mutant) -> World {
    let mut random = Seeded::new(seed ^ 0x5eed);
    let tasks = 2 + usize::try_from(random.below(9)).unwrap();
    let mut natures = vec![Nature::default(); tasks];
    for (place, nature) in natures.iter_mut().enumerate() {
        match random.below(8) {
            0 => nature.bad = (1..=MAX_ATTEMPTS).collect(),
            1 => nature.bad = [1].into(),
            _ => {}
        }
        let mut other = |percent| {
            let other = usize::try_from(random.below(tasks as u64)).unwrap();
            (other < place && random.chance(percent)).then_some(other)
        };
        nature.conflicts = other(25).into_iter().collect();
        // One: a task that clashes with all others would use up its attempts.
        nature.clashes = other(15).into_iter().collect();
    }
    // A task may conflict with all others.
    if let (0, Some(last)) = (seed % 8, natures.last_mut()) {
        last.conflicts = (0..tasks - 1).collect();
    }
    let mut world = World::new(natures, seed, mutant);
    world.crashes = random.below(3) * 8;
    world.meddling = random.below(3) * 8;
    // A loop has its lock, and workers of a fleet have none.
    world.is_alone = seed.is_multiple_of(2);
    world
}

// Takes about 17 s: each step of 500 plans is checked against the whole line of commits.
#[test]
fn nothing_lands_twice_and_nothing_is_lost_wherever_the_merger_is_killed() {
    let plans = if std::env::var_os("SAMUEL_LONG").is_some() { ALL_PLANS } else { PLANS };
    let (mut kills, mut checks, mut late) = (0, 0, 0);
    for seed in 0..plans {
        let mut world = world(seed, Mutant::None);
        if let Err(broken) = world.run() {
            panic!("plan {seed}: {broken}");
        }
        kills += world.kills as u64;
        checks += world.checks as u64;
        late += world.late as u64;
    }
    let is_much = kills > plans / 2 && checks > plans / 2 && late > plans / 40;
    assert!(is_much, "{kills} kills, {checks} checks, {late} late");
}

#[test]
fn a_merger_that_forgets_one_of_the_rules_is_caught() {
    let mutants = [
        Mutant::NoLanding,
        Mutant::Equality,
        Mutant::NoToken,
        Mutant::NoCheck,
        Mutant::StaleIsLost,
        Mutant::GivesUp,
        Mutant::BranchFirst,
    ];
    for mutant in mutants {
        let is_caught = (0..MUTANT_PLANS).any(|seed| world(seed, mutant).run().is_err());
        assert!(is_caught, "{mutant:?} was caught in none of {MUTANT_PLANS} plans");
    }
}
