//! What is next, and why: the module `plan` of the crate `samuel-state`.

pub use samuel_state::plan::{
    Candidate, CandidateStanding, Discoveries, Evidence, GroupState, ListForm, ListRow, LongPlan, LoopAtWork,
    Next, Pilot, Readiness, Standing, TaskChoice, TaskFilter, TaskList, TaskTree, TreeRow, Work, WorkRemedy,
    WorkUnderWay, next,
};
pub(crate) use samuel_state::plan::{MAX_REPEATS, UNCHECKED};
