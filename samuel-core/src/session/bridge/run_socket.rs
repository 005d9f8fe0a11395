//! Asking the run that an agent belongs to.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    agent::bridge::{BridgeEvent, EndedCall, HookAnswer, HookInput, Protocol},
    engine::socket::{
        AbilityAfter, AbilityBefore, RunClient, RunClientError, SOCKET_VARIABLE, TOKEN_VARIABLE, Verdict,
    },
    fs::private,
    hook::AbilityCall,
    text::described,
};

/// The most bytes of a file that says where a run listens.
const MAX_ADDRESS: u64 = 64 << 10;

/// Where a run listens, and who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct RunAddress {
    /// The socket.
    pub socket: PathBuf,
    /// The token of the agent's call; nothing where the environment has none.
    pub token: Option<String>,
}

impl RunAddress {
    /// Reads an environment, variable by variable: nothing where it names no socket. What is empty
    /// counts as not set.
    pub fn of_env<'a>(var: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let var = |name| var(name).filter(|value| !value.is_empty());
        let token = var(TOKEN_VARIABLE).map(str::to_owned);
        Some(Self { socket: PathBuf::from(var(SOCKET_VARIABLE)?), token })
    }

    /// Reads the file that a run left for the hooks that it wires, which they are started with the path
    /// of: an agent may be able to change their environment.
    ///
    /// # Errors
    /// Returns an error where there is none that only this user can reach, or it names no socket.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let bytes = private::read(path, MAX_ADDRESS)?.ok_or(io::ErrorKind::NotFound)?;
        let set: BTreeMap<String, String> = serde_json::from_slice(&bytes)?;
        let no_socket = || io::Error::new(io::ErrorKind::InvalidData, "it names no socket");
        Self::of_env(|name| set.get(name).map(String::as_str)).ok_or_else(no_socket)
    }

    /// Asks about a tool call, or tells how one ended; anything else is none of the agent's business
    /// within a run.
    pub(super) fn ask(
        &self,
        protocol: &dyn Protocol,
        asked: &HookInput,
        time: Duration,
    ) -> Result<HookAnswer, String> {
        match &asked.event {
            BridgeEvent::Before(call) => self.before(call, time),
            BridgeEvent::After(ended) => self.after(ended, protocol.takes_text(), time),
            _ => Ok(HookAnswer::default()),
        }
    }

    fn connect(&self, time: Duration) -> Result<RunClient, String> {
        let Some(token) = &self.token else {
            return Err(format!("{TOKEN_VARIABLE} is not set beside {SOCKET_VARIABLE}"));
        };
        RunClient::connect(&self.socket, token, time).map_err(told)
    }

    fn before(&self, call: &AbilityCall, time: Duration) -> Result<HookAnswer, String> {
        let AbilityCall { call_id, ability_id, input, .. } = call.clone();
        let asked = AbilityBefore { ability_id, call_id, input, ..AbilityBefore::default() };
        match self.connect(time)?.ability_before(asked).map_err(told)? {
            Verdict::Allow { input, changed } => {
                Ok(HookAnswer { input: changed.then_some(input), ..HookAnswer::default() })
            }
            Verdict::Block { reason } => Ok(HookAnswer::blocked(reason)),
        }
    }

    fn after(&self, ended: &EndedCall, takes_text: bool, time: Duration) -> Result<HookAnswer, String> {
        let EndedCall { ability_id, call_id, input, status, duration_ms, output_summary } = ended.clone();
        let told_of = AbilityAfter {
            ability_id,
            call_id,
            status,
            duration_ms,
            input,
            output_summary,
            takes_text,
            ..AbilityAfter::default()
        };
        let text = self.connect(time)?.ability_after(told_of).map_err(told)?;
        Ok(HookAnswer { text, ..HookAnswer::default() })
    }
}

impl std::fmt::Debug for RunAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunAddress").field("socket", &self.socket).finish_non_exhaustive()
    }
}

fn told(error: RunClientError) -> String {
    described(&error)
}
