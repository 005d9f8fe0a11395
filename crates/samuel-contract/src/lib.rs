//! The hook points of Samuel: what handlers are given, what they answer, and how
//! several answers become one.
//!
//! [`HookPoint`] names a point, and a type of the same name in [`points`] says by
//! [`Point`] which records go with it; the records are in [`payload`]. Every output
//! is an [`Output`], and [`Answer`] has the words to fill one in. [`context`] is what
//! templates and handlers read of the run. `samuel-core`, which exports all of this,
//! decides who calls handlers, in which order, and what an answer does.
//!
//! All but how answers become one is written from `wit/` by `cargo xtask contract`.
//!
//! ```
//! use samuel_contract::{Answer, HookPoint, Output, payload::BeforeLoopOutput};
//!
//! let mut answer = BeforeLoopOutput::pass();
//! answer.combine(BeforeLoopOutput::refuse("the build is broken"));
//! assert_eq!(answer.refusal().as_deref(), Some("the build is broken"));
//! assert_eq!("before:loop".parse(), Ok(HookPoint::BeforeLoop));
//! ```

mod answer;
mod changes;
pub mod context;
mod field;
mod generated;
mod output;
pub mod payload;
mod point;
mod table;
mod words;

pub use answer::Answer;
pub use field::Field;
use field::field;
pub use generated::{
    answer::{Blob, Gate, Results, Text},
    point::{HookCall, HookPoint, types as points},
};
pub use output::{Output, Printed};
pub use point::{CallVisitor, Kind, OnFailure, Point, PointVisitor, UnknownPoint, nearest};
pub use words::ParseWordError;
pub(crate) use words::words;
