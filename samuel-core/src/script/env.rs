//! What every command of a hook finds in its environment.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use super::named::{PROJECT_ROOT, WORKSPACE};
use crate::{
    environment::{is_reserved, moved},
    hook::{BreakClass, HookFailure},
    model::payload::CallHeader,
};

/// How many levels of hooks may start each other through the command line.
pub const MAX_DEPTH: u32 = 3;

/// The variable that counts them.
const DEPTH: &str = "SAMUEL_HOOK_DEPTH";

/// The directories in which programs are looked for.
const PATH: &str = "PATH";

/// Returns the variables that say what a command is called for, in which root its turn works, and by which methodology
/// the project is worked on. `depth` is that of this program, [`depth_of`] its own environment; the command's is one
/// more.
pub fn hook_env(
    header: &CallHeader,
    root: &Path,
    methodology: &str,
    depth: u32,
) -> Vec<(OsString, OsString)> {
    let variables = [
        (PROJECT_ROOT, root.into()),
        (WORKSPACE, root.into()),
        ("SAMUEL_HOOK_POINT", (&*header.point).into()),
        ("SAMUEL_HANDLER_ID", (&*header.handler_id).into()),
        ("SAMUEL_RUN_ID", (&*header.run_id).into()),
        ("SAMUEL_METHODOLOGY", methodology.into()),
        ("SAMUEL_ITERATION", header.iteration.to_string().into()),
        (DEPTH, depth.saturating_add(1).to_string().into()),
    ];
    variables.map(|(name, value): (&str, OsString)| (name.into(), value)).into()
}

/// Returns an environment that the caller gave with the places of a root. Programs and what they load are looked up where
/// the caller looks them up, since hooks run outside of sandboxes: no file that an agent puts into its workspace stands
/// for one. These are `PATH` and variables that no plugin may set, such as `PYTHONPATH` and `LD_PRELOAD`.
pub(crate) fn env_in(env: &[(String, String)], project: &Path, root: &Path) -> Vec<(String, String)> {
    let stays = |(name, _): &(String, String)| name == PATH || is_reserved(name);
    let moved_there =
        moved(env.iter().cloned(), project, root).into_iter().filter(|variable| !stays(variable));
    // Without the caller's own place in a repository.
    let kept = moved(env.iter().filter(|variable| stays(variable)).cloned(), root, root);
    moved_there.chain(kept).collect()
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
