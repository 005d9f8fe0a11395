//! `doctor --hooks`: why a handler runs, or does not.

use samuel_core::engine::{HookReport, Run};

use super::setup::{Setting, builder};
use crate::{args::Global, failure::Failure, host::Host, render::chain_table, reply::Reply};

/// Shows every chain, with the place of each setting.
pub(crate) fn hooks(global: &Global, host: &Host) -> Result<Reply, Failure> {
    let project = host.project(global, None)?;
    let run = run(project.clone(), host)?;
    let report = HookReport::new(run.registry(), project.config(), project.methodology());
    let warnings = report.chains.iter().flat_map(|chain| chain.warnings.clone());
    Ok(Reply::new(&report, chain_table(&report.chains)).warn(warnings.collect::<Vec<_>>()))
}

/// Builds a run as `start` would, for its chains; it is never started.
pub(super) fn run(project: samuel_core::project::Project, host: &Host) -> Result<Run, Failure> {
    Ok(builder(project, &Setting::default(), host)?.build()?)
}
