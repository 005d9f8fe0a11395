//! What an agent runs in.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    hook::nearest,
    model::{Coded, ErrorCode},
};

/// What an agent runs in: the setting `sandbox`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sandbox {
    /// Nothing: the agent has the rights of the user.
    #[default]
    Host,
    /// A bubblewrap container. Reserved.
    Bwrap,
    /// An OCI container. Reserved.
    Oci,
}

impl Sandbox {
    /// Every sandbox that has a name.
    pub const ALL: &[Sandbox] = &[Sandbox::Host, Sandbox::Bwrap, Sandbox::Oci];

    /// Returns the name in samuel.toml.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Bwrap => "bwrap",
            Self::Oci => "oci",
        }
    }

    /// Reads a name.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unknown`] where no sandbox has the name.
    pub fn parse(name: &str) -> Result<Self, SandboxError> {
        Self::ALL.iter().copied().find(|sandbox| sandbox.as_str() == name).ok_or_else(|| {
            SandboxError::Unknown { name: name.to_owned(), nearest: nearest(name, Self::available()) }
        })
    }

    /// Returns the names of those that agents can run in.
    pub(crate) fn available() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().filter(|sandbox| sandbox.check().is_ok()).map(|sandbox| sandbox.as_str())
    }

    /// Checks that agents can run in it; to be asked before a run starts.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unavailable`] for those that are only reserved.
    pub fn check(self) -> Result<(), SandboxError> {
        match self {
            Self::Host => Ok(()),
            Self::Bwrap | Self::Oci => Err(SandboxError::Unavailable { sandbox: self }),
        }
    }
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Sandbox {
    type Err = SandboxError;

    fn from_str(name: &str) -> Result<Self, SandboxError> {
        Self::parse(name)
    }
}

/// A sandbox that agents cannot run in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// No sandbox has the name.
    #[error("unknown sandbox \"{name}\"")]
    Unknown {
        /// The name as it was given.
        name: String,
        /// The nearest name, where one is near.
        nearest: Option<&'static str>,
    },
    /// The name is reserved for a later version.
    #[error("sandbox \"{sandbox}\" is not available yet")]
    Unavailable {
        /// The sandbox.
        sandbox: Sandbox,
    },
}

impl Coded for SandboxError {
    fn code(&self) -> ErrorCode {
        ErrorCode::SANDBOX_UNKNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sandbox_reads_back_from_its_name() {
        for sandbox in Sandbox::ALL {
            assert_eq!(sandbox.to_string().parse().as_ref(), Ok(sandbox));
        }
    }

    #[test]
    fn an_unknown_sandbox_is_refused_with_the_names_there_are() {
        let error = Sandbox::parse("bwarp").expect_err("no sandbox has the name");
        assert_eq!(error.to_string(), "unknown sandbox \"bwarp\"");
        assert!(matches!(error, SandboxError::Unknown { nearest: None, .. }), "bwrap would be refused");
        let error = Sandbox::parse("hots").expect_err("no sandbox has the name");
        assert!(matches!(error, SandboxError::Unknown { nearest: Some("host"), .. }));
    }

    #[test]
    fn only_the_host_is_available() {
        assert_eq!(Sandbox::Host.check(), Ok(()));
        for sandbox in [Sandbox::Bwrap, Sandbox::Oci] {
            let error = sandbox.check().expect_err("reserved");
            assert_eq!(error.to_string(), format!("sandbox \"{sandbox}\" is not available yet"));
            assert_eq!(error.code().name, "E_SANDBOX_UNKNOWN");
        }
    }
}
