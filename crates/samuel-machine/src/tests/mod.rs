//! The machine in a simulated world.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a failed test may panic")]

use std::collections::VecDeque;

use samuel_hook::Said;
use samuel_model::{ExitReason, TaskId};
use samuel_state::{Mutation, ProgressKind};

use super::*;
use crate::event::Event;

mod agents;
mod another_turn;
mod beside;
mod checks;
mod delivery;
mod guards;
mod in_lanes;
mod leaving;
mod order;
mod pilot;
mod questions;
mod saved;
mod script;
mod sim;
mod stopping;
mod strictness;
mod trace;
