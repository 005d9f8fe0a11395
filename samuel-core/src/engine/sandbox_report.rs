//! What the sandbox of a run holds on this machine: what `samuel run sandbox check` says.

use serde::Serialize;

use super::{builder::RunBuilder, error::RunError};
use crate::{
    process::Supervisor,
    sandbox::{HOST, ProbeFinding, ProbeGround, ProbeOutcome, SandboxError, UnheldLimit, probe},
};

/// What a sandbox holds.
#[derive(Clone, Debug, Serialize)]
pub struct SandboxReport {
    /// The name of the sandbox.
    pub sandbox: String,
    /// What does the work, and its version.
    pub version: Option<String>,
    /// Each promise with what was found.
    pub findings: Vec<ProbeFinding>,
    /// The limits that it does not hold on this machine.
    pub unheld: Vec<UnheldLimit>,
}

impl SandboxReport {
    /// Counts the promises that did not hold.
    pub fn broken(&self) -> usize {
        self.findings.iter().filter(|finding| finding.outcome == ProbeOutcome::Broken).count()
    }
}

impl RunBuilder {
    /// Tries to get out of the sandbox that the settings choose, as a run would have it, in a directory
    /// that is made for it. Nothing of the project is run.
    ///
    /// # Errors
    /// Returns a [`RunError`] if there is no such sandbox, if commands cannot run in it, and for `host`, where the attempts
    /// would change this machine.
    pub async fn probe_sandbox(self) -> Result<SandboxReport, RunError> {
        self.check_sandbox()?;
        let chosen = self.chosen_sandbox()?;
        if chosen.name() == HOST {
            let problem =
                "it separates nothing, and the attempts to get out would change this machine".to_owned();
            return Err(SandboxError::Unusable { name: chosen.name().to_owned(), problem }.into());
        }
        let no_ground = |error: std::io::Error| SandboxError::Unusable {
            name: chosen.name().to_owned(),
            problem: format!("no directory can be made to try it out in: {error}"),
        };
        let ground = ProbeGround::create().map_err(no_ground)?;
        let sandbox = self.on_ground(&ground, chosen)?;
        let findings = probe(&ground, &*sandbox, &self.supervisor_or_default()).await?;
        Ok(SandboxReport {
            sandbox: sandbox.name().to_owned(),
            version: sandbox.version(),
            unheld: sandbox.unheld(),
            findings,
        })
    }

    fn supervisor_or_default(&self) -> Supervisor {
        self.supervisor.clone().unwrap_or_default()
    }
}
