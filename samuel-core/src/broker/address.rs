//! Where a call of an agent reaches its run.

use std::{fmt, path::PathBuf};

use crate::{
    engine::socket::{SOCKET_VARIABLE, TOKEN_VARIABLE},
    hook::RunAccess,
    sandbox::HOST,
};

/// Where a call of an agent reaches its run, and by which token.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerAddress {
    /// The socket.
    pub socket: PathBuf,
    /// The token of the call.
    pub token: String,
    /// Whether the files of the plan are there beside it, since the call is in no sandbox. By default
    /// they are not.
    pub has_files: bool,
}

impl BrokerAddress {
    /// Reads an environment, variable by variable: nothing unless it names both a socket and a token. What
    /// is empty counts as not set.
    pub fn of_env<'a>(var: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let var = |name| var(name).filter(|value| !value.is_empty());
        Some(Self {
            socket: PathBuf::from(var(SOCKET_VARIABLE)?),
            token: var(TOKEN_VARIABLE)?.to_owned(),
            has_files: var(RunAccess::SANDBOX).is_some_and(|name| name == HOST),
        })
    }
}

impl fmt::Debug for BrokerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerAddress").field("socket", &self.socket).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_variables_are_needed_and_only_the_host_has_the_files() {
        let of = |variables: &[(&str, &'static str)]| {
            BrokerAddress::of_env(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
            })
        };
        assert_eq!(of(&[("SAMUEL_SOCKET", "/s")]), None);
        assert_eq!(of(&[("SAMUEL_SOCKET", "/s"), ("SAMUEL_TOKEN", "")]), None);
        let both = [("SAMUEL_SOCKET", "/s"), ("SAMUEL_TOKEN", "abc")];
        assert!(of(&both).is_some_and(|address| !address.has_files));
        let host = [both[0], both[1], ("SAMUEL_SANDBOX", "host")];
        assert!(of(&host).is_some_and(|address| address.has_files));
        assert!(!format!("{:?}", of(&host)).contains("abc"));
    }
}
