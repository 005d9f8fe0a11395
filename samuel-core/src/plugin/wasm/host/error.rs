//! How a call to the host fails.

use std::io;

use wasmtime::component::{ComponentType, Lift, Lower};

use crate::plugin::Capability;

/// The contract's `denial`.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct Denial {
    pub(super) capability: String,
    pub(super) target: String,
}

/// The contract's `excess`.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct Excess {
    pub(super) what: String,
    pub(super) limit: u64,
}

/// The contract's `host-error`.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(variant)]
pub(super) enum HostError {
    #[component(name = "denied")]
    Denied(Denial),
    #[component(name = "unsupported")]
    Unsupported(String),
    #[component(name = "not-found")]
    NotFound(String),
    #[component(name = "invalid")]
    Invalid(String),
    #[component(name = "too-large")]
    TooLarge(Excess),
    #[component(name = "quota")]
    Quota(Excess),
    #[component(name = "timed-out")]
    TimedOut,
    #[component(name = "cancelled")]
    Cancelled,
    #[component(name = "other")]
    Other(String),
}

impl HostError {
    /// Refuses a capability for a target.
    pub(super) fn denied(capability: Capability, target: impl Into<String>) -> Self {
        Self::Denied(Denial { capability: capability.as_str().to_owned(), target: target.into() })
    }

    /// Refuses arguments that make no sense.
    pub(super) fn invalid(why: impl Into<String>) -> Self {
        Self::Invalid(why.into())
    }

    /// Checks that something is not more than the host takes or gives.
    pub(super) fn at_most(what: &str, found: usize, limit: usize) -> Result<(), Self> {
        if found <= limit {
            return Ok(());
        }
        Err(Self::too_large(what, limit))
    }

    /// Refuses what is more than the host takes or gives.
    pub(super) fn too_large(what: &str, limit: usize) -> Self {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        Self::TooLarge(Excess { what: what.to_owned(), limit })
    }

    /// Refuses what is more than a plugin may use in a run.
    pub(super) fn quota(what: &str, limit: u64) -> Self {
        Self::Quota(Excess { what: what.to_owned(), limit })
    }

    /// Says what the system said about something.
    pub(super) fn io(what: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(what.to_owned()),
            io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Other(format!("{what}: {error}")),
        }
    }
}
