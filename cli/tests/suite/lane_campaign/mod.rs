//! Generated plans with several lanes, whose Samuel is killed at any moment and started again, while
//! somebody commits on the branch that work lands on.
//!
//! It is killed when so many events were told, when so many landings were written down, which is when the branch is
//! about to be moved, or when the branch was moved so many times; and a moment later, too. The plan and the moments
//! follow from a seed. In one plan of four lanes work in clones. Agents note where two are at work on the same files.
//!
//! Between each two steps of a landing Samuel is killed in `points`, where no time decides. By default two plans of 8
//! tasks are played with 6 kills, in addition to 4 of those points and to the kills in the tests of the library.
//! `SAMUEL_LONG=1` plays 200 plans of 30 tasks with 1,000 kills in all, and all 13 points; `SAMUEL_SEED` names one seed to
//! be played, at full size, and `SAMUEL_SEEDS` how many are.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a campaign tells its figures")]

pub(crate) mod plans;
mod play;
mod points;

use std::env;

use play::{Figures, play};

/// How large a campaign is.
struct Size {
    /// Its first seed.
    first: u64,
    plans: u64,
    /// The tasks of each plan.
    tasks: u64,
    /// How often each plan is killed, if it does not end before.
    kills: u64,
}

impl Size {
    fn wanted() -> Self {
        let number = |name: &str| env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
        let whole = |first, plans| Self { first, plans, tasks: 30, kills: 5 };
        match (number("SAMUEL_SEED"), number("SAMUEL_SEEDS"), env::var_os("SAMUEL_LONG")) {
            (Some(seed), ..) => whole(seed, 1),
            (None, Some(seeds), _) => whole(1, seeds),
            (None, None, Some(_)) => whole(1, 200),
            // Work trees, rebases and an agent that hangs, then clones, merges and a task that is blocked; both onto the
            // branch that is checked out.
            (None, None, None) => Self { first: 127, plans: 2, tasks: 8, kills: 3 },
        }
    }
}

// Takes about 30 s: two plans with four lanes, each started four times, and an agent that hangs until its limit of 5 s.
#[test]
fn whenever_samuel_is_killed_what_lanes_made_lands_once_and_nothing_is_lost() {
    let Size { first, plans, tasks, kills } = Size::wanted();
    let mut all = Figures::default();
    for seed in first..first + 2 * plans {
        // If a plan ends before its last kill, or no work was returned, another plan makes up for it.
        if all.plans >= plans && (all.kills >= plans * kills && all.returned > 0 || plans == 1) {
            break;
        }
        let figures = play(seed, tasks, kills);
        println!("seed {seed}: {figures:?}");
        all.add(&figures);
    }
    println!("in all: {all:?}");
    assert!(all.kills >= plans * kills || plans == 1, "{all:?}");
    assert_eq!((all.landed + all.blocked) as u64, tasks * all.plans);
    assert!(all.blocked > 0 || plans == 1, "{all:?}");
    assert!(all.returned > 0 && all.pushes > 0 && all.looks > 0, "{all:?}");
}
