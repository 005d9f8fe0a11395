//! What the sandbox of a run holds on this machine: what `samuel run sandbox check` says.

use serde::Serialize;

use super::{
    builder::RunBuilder,
    error::RunError,
    sandboxes::{bwrap_in, contents_of},
};
use crate::{
    process::Supervisor,
    sandbox::{BWRAP, OCI, Oci, ProbeFinding, ProbeGround, ProbeOutcome, SandboxError, probe},
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
    /// Returns a [`RunError`] where there is no such sandbox, or commands cannot run in it.
    pub async fn probe_sandbox(self) -> Result<SandboxReport, RunError> {
        self.check_sandbox()?;
        let chosen = self.chosen_sandbox()?;
        let no_ground = |error: std::io::Error| SandboxError::Unusable {
            name: chosen.name().to_owned(),
            problem: format!("no directory can be made to try it out in: {error}"),
        };
        let ground = ProbeGround::create().map_err(no_ground)?;
        let supervisor = self.supervisor_or_default();
        let findings = match (chosen.name(), &self.containers) {
            (BWRAP, _) => {
                let settings = &self.project.config().sandbox;
                let bwrap = bwrap_in(settings, &self.env, self.guest.as_ref(), || Ok(ground.view()))?;
                probe(&ground, &bwrap, &supervisor).await?
            }
            (OCI, Some(containers)) => {
                let settings = &self.project.config().sandbox;
                let contents = contents_of(settings, &self.env, || Ok(ground.view()))?;
                let oci = Oci::new(containers.clone(), contents, self.project.root());
                probe(&ground, &oci, &supervisor).await?
            }
            _ => probe(&ground, &*chosen, &supervisor).await?,
        };
        Ok(SandboxReport { sandbox: chosen.name().to_owned(), version: chosen.version(), findings })
    }

    fn supervisor_or_default(&self) -> Supervisor {
        self.supervisor.clone().unwrap_or_default()
    }
}
