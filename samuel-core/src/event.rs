//! What a run tells whoever watches it: the module `event` of the crate `samuel-machine`.
//!
//! One [`Event`] enum is the whole interface between the engine and a terminal,
//! an editor or a service. As JSON an event is one flat object, an
//! [`EventRecord`] with the schema version, the time and the run.
//!
//! ```
//! use samuel_core::event::EventRecord;
//!
//! let line = r#"{"schema_version": 1, "seq": 7, "at": "2026-01-01T00:00:00Z", "run_id": "r",
//!                "event": "warning", "message": "the disk is nearly full"}"#;
//! let record: EventRecord = serde_json::from_str(line)?;
//! assert_eq!((record.seq, &*record.run_id), (7, "r"));
//! # Ok::<(), serde_json::Error>(())
//! ```

pub use samuel_machine::event::{
    CheckResult, EVENT_SCHEMA_VERSION, Event, EventRecord, Guard, IterationFailure, PlanChange, RunFault,
    RunReport,
};
