//! `exec`: running commands.
//!
//! Exactly what was granted runs, found as the user would find it: by name in
//! the absolute directories of the embedding program's `PATH` that are none of
//! the project's, or by path from the project's root, whatever directory the
//! plugin runs it in.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use wasmtime::component::{ComponentType, Lift, LinkerInstance, Lower};

use super::{
    Guest, HostError, on_a_thread,
    tree::{LastLink, Tree, absolute},
    waiting,
};
use crate::{
    environment::{covers_variable, is_reserved},
    fs::PathKind,
    hook::{AgentPort, ended, supervised},
    plugin::{Capabilities, Capability, exec_grant::covers_command, wasm::plugin::LoadedComponent},
    process::{
        Captured, CommandOutput, CommandSpec, End, ExitStatus, OutputLimits, ProcessError, find_on_path,
    },
};

/// The most arguments, and all of them together in bytes.
const MAX_ARGS: usize = 1_024;
const MAX_ARGS_BYTES: usize = 128 * 1024;
/// The most variables, and all of them together in bytes.
const MAX_VARIABLES: usize = 256;
const MAX_VARIABLES_BYTES: usize = 128 * 1024;
/// How much of a command is shown where it is denied.
const MAX_SHOWN_WORDS: usize = 32;
const MAX_SHOWN_CHARS: usize = 200;
/// What a command may read, in bytes.
const MAX_STDIN_BYTES: usize = 1024 * 1024;
/// What is kept of each output, in bytes: half from the start and half from
/// the end.
const MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// The contract's `command`.
#[derive(Clone, Debug, Default, ComponentType, Lift, Lower)]
#[component(record)]
struct Command {
    program: String,
    args: Vec<String>,
    cwd: Option<String>,
    env: Vec<(String, String)>,
    stdin: Vec<u8>,
    #[component(name = "timeout-ms")]
    timeout_ms: Option<u64>,
}

/// The contract's `output`.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
struct Output {
    #[component(name = "exit-code")]
    exit_code: i32,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
}

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    waiting(interface, "run", |guest, (command,): (Command,)| {
        let port = guest.port.clone();
        run(Arc::clone(&guest.loaded), command, guest.time_left(), guest.cancelled.clone(), port)
    })
}

async fn run(
    loaded: Arc<LoadedComponent>,
    command: Command,
    left: Duration,
    cancelled: CancellationToken,
    port: Option<Arc<dyn AgentPort>>,
) -> Result<Output, HostError> {
    check(&command, &loaded.setup.granted)?;
    let prepared = Arc::clone(&loaded);
    let spec = on_a_thread(move || prepare(&prepared, command, left)).await?;
    let supervisor = &loaded.workspace.supervisor;
    let running = supervised(spec, supervisor, port.as_ref()).await.map_err(|error| refused(&error))?;
    let ended = ended(running, &cancelled, port.as_ref()).await.map_err(|error| refused(&error))?;
    match ended.end {
        End::Exited => Ok(output_of(ended)),
        End::Cancelled => Err(HostError::Cancelled),
        _ => Err(HostError::TimedOut),
    }
}

fn check(command: &Command, granted: &Capabilities) -> Result<(), HostError> {
    if !covers_command(granted.targets(Capability::Exec), &command.program, &command.args) {
        return Err(HostError::denied(Capability::Exec, shown(command)));
    }
    HostError::at_most("args (a number)", command.args.len(), MAX_ARGS)?;
    HostError::at_most("args", command.args.iter().map(String::len).sum(), MAX_ARGS_BYTES)?;
    HostError::at_most("env (a number)", command.env.len(), MAX_VARIABLES)?;
    let variables = command.env.iter().map(|(name, value)| name.len() + value.len());
    HostError::at_most("env", variables.sum(), MAX_VARIABLES_BYTES)?;
    HostError::at_most("stdin", command.stdin.len(), MAX_STDIN_BYTES)?;
    let variables = granted.targets(Capability::Env);
    let may_set = |name: &str| covers_variable(variables, name) && !is_reserved(name);
    match command.env.iter().find(|(name, _)| !may_set(name)) {
        Some((name, _)) => Err(HostError::denied(Capability::Env, name)),
        None => Ok(()),
    }
}

/// Returns a command as it would be written, shortened.
fn shown(command: &Command) -> String {
    let words = std::iter::once(&command.program).chain(&command.args);
    let line: String = words.take(MAX_SHOWN_WORDS).map(String::as_str).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn prepare(loaded: &LoadedComponent, command: Command, left: Duration) -> Result<CommandSpec, HostError> {
    let root = &loaded.workspace.root;
    // A grant of `exec` is none of files: any directory of the project will do.
    let everywhere = ["/workspace/**".to_owned()];
    let tree = Tree { root, capability: Capability::Exec, granted: &everywhere };
    let cwd = command.cwd.as_deref().unwrap_or(".");
    let place = tree.walk(cwd, LastLink::Follow)?;
    if place.inner.kind() != Some(PathKind::Directory) {
        return Err(HostError::NotFound(cwd.to_owned()));
    }
    let program = match command.program.contains('/') {
        true => root.join(&command.program).into_os_string(),
        false => {
            let path = loaded.workspace.command_env.iter().rev().find(|(name, _)| name == "PATH");
            let path = path.and_then(|(_, value)| value.to_str());
            let found = find_on_path(&command.program, path, Some(root));
            found.ok_or(HostError::NotFound(command.program))?.into_os_string()
        }
    };
    let half = MAX_OUTPUT_BYTES / 2;
    let asked = command.timeout_ms.map_or(Duration::MAX, Duration::from_millis);
    Ok(CommandSpec::new(program, absolute(root, &place.names))
        .args(command.args)
        .envs(loaded.workspace.command_env.iter().cloned())
        .envs(command.env)
        .stdin(command.stdin)
        .timeout(asked.min(left))
        .grace_when_dropped(true)
        .limits(OutputLimits { head: half, tail: half, ..OutputLimits::default() }))
}

fn output_of(ended: CommandOutput) -> Output {
    let exit_code = match ended.status {
        ExitStatus::Exited(code) => code,
        ExitStatus::Signaled(signal) => 128 + signal,
    };
    let truncated = ended.stdout.is_truncated() || ended.stderr.is_truncated();
    let kept = |mut captured: Captured| {
        captured.head.append(&mut captured.tail);
        captured.head
    };
    Output { exit_code, stdout: kept(ended.stdout), stderr: kept(ended.stderr), truncated }
}

fn refused(error: &ProcessError) -> HostError {
    match error {
        ProcessError::ProgramNotFound { program, .. } => HostError::NotFound(program.display().to_string()),
        ProcessError::BadVariable { .. }
        | ProcessError::BadArgument { .. }
        | ProcessError::TooLong { .. } => HostError::invalid(error.to_string()),
        ProcessError::NoTimeToStart { .. } => HostError::TimedOut,
        error => HostError::Other(error.explained()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(program: &str) -> Command {
        Command { program: program.to_owned(), ..Command::default() }
    }

    fn granting(programs: &[&str]) -> Capabilities {
        Capabilities::default().with(Capability::Exec, programs.iter().copied())
    }

    #[test]
    fn exactly_the_granted_program_runs() {
        let granted = granting(&["cargo", "./scripts/check.sh"]);
        assert_eq!(check(&command("cargo"), &granted), Ok(()));
        assert_eq!(check(&command("./scripts/check.sh"), &granted), Ok(()));
        for program in ["cargo ", "cargo2", "/usr/bin/cargo", "./cargo", "scripts/check.sh", "sh", ""] {
            let denied = HostError::denied(Capability::Exec, program);
            assert_eq!(check(&command(program), &granted), Err(denied), "{program}");
        }
    }

    #[test]
    fn arguments_that_were_not_granted_are_denied_with_the_command() {
        let granted = granting(&["git log *"]);
        let with = |args: &[&str]| Command {
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..command("git")
        };
        assert_eq!(check(&with(&["log", "main"]), &granted), Ok(()));
        let denied = HostError::denied(Capability::Exec, "git -c alias.x=!id x");
        assert_eq!(check(&with(&["-c", "alias.x=!id", "x"]), &granted), Err(denied));
        let Err(HostError::Denied(denial)) = check(&with(&[&"x".repeat(1_000)]), &granted) else {
            unreachable!()
        };
        assert_eq!(denial.target.chars().count(), MAX_SHOWN_CHARS + 1);
    }

    #[test]
    fn a_variable_needs_its_grant_and_none_makes_a_granted_program_run_another() {
        let names = ["PATH", "LD_PRELOAD", "GIT_SSH_COMMAND", "BASH_ENV", "RUST_LOG"];
        let granted = granting(&["cargo"]).with(Capability::Env, names);
        let setting = |name: &str| Command { env: vec![(name.into(), "x".into())], ..command("cargo") };
        for name in
            ["PATH", "path", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "GIT_SSH_COMMAND", "BASH_ENV", "MY_FLAG"]
        {
            let denied = HostError::denied(Capability::Env, name);
            assert_eq!(check(&setting(name), &granted), Err(denied), "{name}");
        }
        assert_eq!(check(&setting("RUST_LOG"), &granted), Ok(()));
    }

    #[test]
    fn a_command_has_its_limits() {
        let granted = granting(&["cat"]);
        let long = Command { stdin: vec![0; MAX_STDIN_BYTES + 1], ..command("cat") };
        let many = Command { args: vec![String::new(); MAX_ARGS + 1], ..command("cat") };
        let wide = Command { args: vec!["x".repeat(MAX_ARGS_BYTES + 1)], ..command("cat") };
        for command in [long, many, wide] {
            assert!(matches!(check(&command, &granted), Err(HostError::TooLarge(_))));
        }
    }
}
