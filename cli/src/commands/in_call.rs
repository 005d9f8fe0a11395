//! Commands that an agent calls within a run, carried out by that run.
//!
//! A loop gives each call of its agent a socket and a token. Where both are set, the commands that
//! record tasks and look at the plan ask the loop, and open no file of the project. Elsewhere, and for
//! another project, they open the files.

use std::path::Path;

use samuel_core::{
    broker::{BrokerAddress, BrokerStore, PlanAccess},
    model::{Coded as _, ErrorCode},
    workspace::project_of,
};

use crate::{
    args::{Global, RunArgs, RunCommand, TaskCommand},
    failure::Failure,
    host::Host,
};

/// What is said where the loop is gone and the files are there.
const GONE: &str = "the loop that called this agent is gone; the files of the plan were used, and the next start checks \
                    what was completed";

/// Whom a command asks.
pub(crate) enum Asked {
    /// The loop that called it.
    Run(PlanAccess),
    /// The files, and what people should know of that.
    Files(Option<String>),
}

/// Says whom a command asks: the loop, where it is one that the loop answers and there is one to ask.
///
/// # Errors
/// Returns a failure where the loop does not let the command in, or is gone and there are no files beside it.
pub(crate) fn asked(args: &RunArgs, global: &Global, host: &Host) -> Result<Asked, Failure> {
    let address = BrokerAddress::of_env(|name| host.var(name));
    let address = address.filter(|_| is_served(args.command.as_ref()) && is_of_run(args, global, host));
    let Some(address) = address else { return Ok(Asked::Files(None)) };
    let has_files = address.has_files;
    match BrokerStore::connect(address) {
        Ok(store) => Ok(Asked::Run(PlanAccess::Run(store.into()))),
        Err(error) if has_files && error.code() == ErrorCode::BROKER_GONE => {
            Ok(Asked::Files(Some(GONE.to_owned())))
        }
        Err(error) => Err(error.into()),
    }
}

/// Says whether a loop answers a command.
fn is_served(command: Option<&RunCommand>) -> bool {
    matches!(
        command,
        None | Some(
            RunCommand::Status
                | RunCommand::Tasks(_)
                | RunCommand::Show(_)
                | RunCommand::Done(_)
                | RunCommand::Skip(_)
                | RunCommand::Reset(_)
                | RunCommand::Enqueue(_)
                | RunCommand::Task(TaskCommand::Add(_))
                | RunCommand::Block(_)
                | RunCommand::Ask(_)
                | RunCommand::Learn(_)
        )
    )
}

/// Says whether the plan of the run is meant: no other project, and no other methodology.
fn is_of_run(args: &RunArgs, global: &Global, host: &Host) -> bool {
    let root = host.var("SAMUEL_PROJECT_ROOT").map(Path::new);
    let is_root = match (&global.directory, root) {
        (None, _) => true,
        (Some(directory), Some(root)) => {
            let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let is_at = |directory: &Path| {
                let is = |root: &Path| resolved(directory) == resolved(root);
                is(root) || project_of(root).is_some_and(|project| is(&project))
            };
            host.absolute(directory).is_ok_and(|directory| is_at(&directory))
        }
        (Some(_), None) => false,
    };
    let methodology = args.methodology.as_deref();
    is_root && methodology.is_none_or(|methodology| host.var("SAMUEL_METHODOLOGY") == Some(methodology))
}
