//! The next task of a lane while several work on one plan: the module `sched` of the crate `samuel-state`.

pub use samuel_state::sched::{
    Cap, ClaimChoice, Claimant, LaneStep, LeftOut, Overlap, SharedBooks, SharedCaps, WhyLeftOut, choose,
    overlapping, step,
};
