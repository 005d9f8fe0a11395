//! What every command of a hook finds in its environment.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use super::named::PROJECT_ROOT;
use crate::{
    hook::{BreakClass, HookFailure},
    model::payload::CallHeader,
};

/// How many levels of hooks may start each other through the command line.
pub const MAX_DEPTH: u32 = 3;

/// The variable that counts them.
const DEPTH: &str = "SAMUEL_HOOK_DEPTH";

/// Returns the variables that say what a command is called for, and by which methodology the project
/// is worked on. `depth` is that of this program, [`depth_of`] its own environment; the command's is one more.
pub fn hook_env(
    header: &CallHeader,
    project_root: &Path,
    methodology: &str,
    depth: u32,
) -> Vec<(OsString, OsString)> {
    let variables = [
        (PROJECT_ROOT, project_root.into()),
        ("SAMUEL_HOOK_POINT", (&*header.point).into()),
        ("SAMUEL_HANDLER_ID", (&*header.handler_id).into()),
        ("SAMUEL_RUN_ID", (&*header.run_id).into()),
        ("SAMUEL_METHODOLOGY", methodology.into()),
        ("SAMUEL_ITERATION", header.iteration.to_string().into()),
        (DEPTH, depth.saturating_add(1).to_string().into()),
    ];
    variables.map(|(name, value): (&str, OsString)| (name.into(), value)).into()
}

/// Returns how many levels of hooks stand above a program with this environment; 0 for one
/// that no hook has started.
pub fn depth_of<T: AsRef<OsStr>>(env: &[(T, T)]) -> u32 {
    depth(env.iter().map(|(name, value)| (name.as_ref(), value.as_ref())))
}

fn depth<'a>(env: impl DoubleEndedIterator<Item = (&'a OsStr, &'a OsStr)>) -> u32 {
    let found = env.rev().find(|(name, _)| *name == DEPTH);
    found.and_then(|(_, value)| value.to_str()).and_then(|value| value.parse().ok()).unwrap_or_default()
}

/// Refuses a command whose environment says that it is one level too deep.
pub(super) fn admit(env: &[(OsString, OsString)]) -> Result<(), HookFailure> {
    if depth(env.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))) <= MAX_DEPTH {
        return Ok(());
    }
    let message = format!(
        "hooks have started hooks {MAX_DEPTH} levels deep, which is the limit; look for a hook whose command \
         brings about what it is called for"
    );
    Err(HookFailure::new(BreakClass::Failed, message))
}
