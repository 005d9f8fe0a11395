//! How a call of a plugin to its host fails.
//!
//! Components get it as the contract has it, programs of images as JSON.

use std::fmt;
#[cfg(feature = "wasm")]
use std::io;

#[cfg(feature = "wasm")]
use wasmtime::component::{ComponentType, Lift, Lower};

use super::Capability;

/// The contract's `denial`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub(in crate::plugin) struct Denial {
    pub(in crate::plugin) capability: String,
    pub(in crate::plugin) target: String,
}

/// The contract's `excess`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub(in crate::plugin) struct Excess {
    pub(in crate::plugin) what: String,
    pub(in crate::plugin) limit: u64,
}

/// The contract's `host-error`.
#[cfg_attr(
    not(feature = "wasm"),
    allow(dead_code, reason = "only calls of components are timed and counted")
)]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(variant))]
pub(in crate::plugin) enum HostError {
    #[cfg_attr(feature = "wasm", component(name = "denied"))]
    Denied(Denial),
    #[cfg_attr(feature = "wasm", component(name = "unsupported"))]
    Unsupported(String),
    #[cfg_attr(feature = "wasm", component(name = "not-found"))]
    NotFound(String),
    #[cfg_attr(feature = "wasm", component(name = "invalid"))]
    Invalid(String),
    #[cfg_attr(feature = "wasm", component(name = "too-large"))]
    TooLarge(Excess),
    #[cfg_attr(feature = "wasm", component(name = "quota"))]
    Quota(Excess),
    #[cfg_attr(feature = "wasm", component(name = "timed-out"))]
    TimedOut,
    #[cfg_attr(feature = "wasm", component(name = "cancelled"))]
    Cancelled,
    #[cfg_attr(feature = "wasm", component(name = "other"))]
    Other(String),
}

impl HostError {
    /// Returns its name in the contract.
    pub(in crate::plugin) fn code(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Unsupported(_) => "unsupported",
            Self::NotFound(_) => "not-found",
            Self::Invalid(_) => "invalid",
            Self::TooLarge(_) => "too-large",
            Self::Quota(_) => "quota",
            Self::TimedOut => "timed-out",
            Self::Cancelled => "cancelled",
            Self::Other(_) => "other",
        }
    }

    /// Refuses a capability for a target.
    pub(in crate::plugin) fn denied(capability: Capability, target: impl Into<String>) -> Self {
        Self::Denied(Denial { capability: capability.as_str().to_owned(), target: target.into() })
    }

    /// Refuses arguments that make no sense.
    pub(in crate::plugin) fn invalid(why: impl Into<String>) -> Self {
        Self::Invalid(why.into())
    }

    /// Checks that something is not more than the host takes or gives.
    pub(in crate::plugin) fn at_most(what: &str, found: usize, limit: usize) -> Result<(), Self> {
        if found <= limit {
            return Ok(());
        }
        Err(Self::too_large(what, limit))
    }

    /// Refuses what is more than the host takes or gives.
    pub(in crate::plugin) fn too_large(what: &str, limit: usize) -> Self {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        Self::TooLarge(Excess { what: what.to_owned(), limit })
    }

    /// Refuses what is more than a plugin may use in a run.
    #[cfg(feature = "wasm")]
    pub(in crate::plugin) fn quota(what: &str, limit: u64) -> Self {
        Self::Quota(Excess { what: what.to_owned(), limit })
    }

    /// Says what the system said about something.
    #[cfg(feature = "wasm")]
    pub(in crate::plugin) fn io(what: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(what.to_owned()),
            io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Other(format!("{what}: {error}")),
        }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(Denial { capability, target }) => {
                write!(f, "{capability} was not granted for {target}")
            }
            Self::NotFound(what) => write!(f, "there is no {what}"),
            Self::TooLarge(Excess { what, limit }) | Self::Quota(Excess { what, limit }) => {
                write!(f, "{what} of more than {limit}")
            }
            Self::TimedOut => f.write_str("it did not end in time"),
            Self::Cancelled => f.write_str("the run was stopped"),
            Self::Unsupported(text) | Self::Invalid(text) | Self::Other(text) => f.write_str(text),
        }
    }
}
