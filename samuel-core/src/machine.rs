//! The loop as a machine without I/O: the crate `samuel-machine`.
//!
//! [`Machine::step`] takes one [`Input`] and returns the [`Effect`]s that
//! follow from it. The machine reads no clock, file or network, and it is plain
//! data between any two steps, so a run can be saved, resumed and replayed.
//! Carrying out effects is the driver's.
//!
//! The sequence is that of one iteration in docs/loop.md: each state waits for
//! one *main* effect, and carries what is known while it lasts, so that a phase of an
//! iteration has its iteration. While the agent is at work, completions and tool calls
//! arrive beside it; their hook points fire one after the other on the *side*,
//! in the order they arrived, and the state goes on when the side is idle.
//!
//! ```
//! use samuel_core::machine::{Effect, Input, Machine, Setup};
//!
//! let mut machine = Machine::new(Setup::default());
//! let effects = machine.step(Input::Start);
//! assert!(!effects.is_empty() && !machine.is_ended());
//! // It is data between any two steps.
//! let saved = serde_json::to_string(&machine)?;
//! assert_eq!(serde_json::from_str::<Machine>(&saved)?.iteration_number(), 0);
//! # Ok::<(), serde_json::Error>(())
//! ```

pub use samuel_machine::{
    AbilityAnswer, AbilityNotice, AgentEnd, AtOnce, CallNumbers, Command, Completion, DifferenceKind, Effect,
    EffectId, EffectResult, EndedAbility, HookReply, Input, LaneWork, LogLine, Machine, PlanChanged,
    RECORD_SCHEMA_VERSION, RecordBegin, RecordStep, Replay, ReplayDifference, ReplayError, Replaying,
    ReplyData, RunLimits, Setup, Wait, WorkLeft,
};
pub(crate) use samuel_machine::{
    BEFORE_CHECK, MAX_LANES, MAX_STOP_BLOCKS, WITHOUT_CHECK, change_line, check_failures, check_result,
    denied_by_person, end_figures, refused_by,
};
