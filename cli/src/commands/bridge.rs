//! `hooks bridge`: answering a hook of an agent.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use samuel_core::{
    agent::bridge::{self, HookAnswer, HookInput, Protocol},
    model::ErrorCode,
    project::find_root,
    session::{
        SessionBuilder,
        bridge::{HookStart, KeptSessions, RunAddress, UNTRUSTED, fire_alone, trusted_root},
    },
    state::Actor,
    trust::{TrustPolicy, TrustStore},
};

use super::{block_on, setup::equip};
use crate::{
    args::{BridgeArgs, Global},
    failure::Failure,
    host::Host,
    reply::Reply,
};

/// Answers the hook that this process was started for.
pub(super) fn answer(args: &BridgeArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let protocol = bridge::protocol(&args.agent)
        .ok_or_else(|| Failure::usage(format!("no agent \"{}\" has hooks", args.agent)))?;
    let event = args.event.as_deref().map(|event| bridge::at(protocol, event)).transpose();
    let event = event.map_err(|error| {
        Failure::usage(error.to_string()).advise("Name one of them, or leave the event out.")
    })?;
    let (run, nobody) = match &args.run {
        // Nothing of the environment counts then: the agent's settings may say it.
        Some(file) => match RunAddress::of_file(file) {
            Ok(run) => (Some(run), None),
            Err(error) => (None, Some(format!("no run is known by {}: {error}", file.display()))),
        },
        None => (RunAddress::of_env(|name| host.var(name)), None),
    };
    let is_of_run = args.run.is_none() && run.is_none() && host.actor() == Actor::Agent;
    let start = HookStart { protocol, event, deadline: args.deadline, run };
    let (global, host) = (global.clone(), host.clone());
    let alone = move |asked: &HookInput, left: Duration| match nobody {
        Some(problem) => Err(problem),
        // Sessions and prompts within a run are its own, and this one wants to know of no calls.
        None if is_of_run => Ok(HookAnswer::default()),
        None => alone(protocol, asked, left, &global, &host).map_err(told),
    };
    let output = start.answer(io::stdin(), alone).map_err(|none| {
        Failure::usage(none.to_string()).advise(
            "Wire it at the events of docs/agent-hooks.md, and hand on what the agent says on standard input.",
        )
    })?;
    let warnings = output.stderr.lines().map(str::to_owned);
    Ok(Reply { text: output.stdout, ..Reply::default() }.for_a_program().warn(warnings))
}

/// Words a failure for the agent and its user, with what to do.
fn told(failure: Failure) -> String {
    let failure = match failure.code == ErrorCode::TRUST_REFUSED {
        // Nobody passes an option to a hook.
        true => failure.advise("Review what would run, and trust it with `samuel trust`."),
        false => failure,
    };
    format!("{}. {}", failure.whole_message(), failure.help)
}

/// Fires the point in the project that the agent works in.
fn alone(
    protocol: &dyn Protocol,
    asked: &HookInput,
    left: Duration,
    global: &Global,
    host: &Host,
) -> Result<HookAnswer, Failure> {
    // A look makes no directory; one that cannot be used does not count as one without records.
    let store = match host.trust_dir() {
        Some(dir) if dir.exists() => host.trust_store()?,
        _ => None,
    };
    let root = root(protocol, asked, store.as_ref(), global, host)?;
    let project = host.project(&Global { directory: Some(root.clone()), ..global.clone() }, None)?;
    let session = SessionBuilder::from(equip(project, host)?)
        .trust(store.map(TrustPolicy::recorded).unwrap_or_default());
    let kept = KeptSessions::new(kept_in(host)?);
    let fired = block_on(fire_alone(session, &root, &kept, protocol, asked, left))?;
    let mut answer = fired.map_err(|error| Failure::of(&error))?;
    for message in answer.messages.iter_mut().filter(|message| *message == UNTRUSTED) {
        message.push_str("; `samuel trust` shows and trusts them");
    }
    Ok(answer)
}

/// Finds the project: the one that `-C` names, else one that something was trusted of, else the one
/// around the directory that the agent works in.
fn root(
    protocol: &dyn Protocol,
    asked: &HookInput,
    store: Option<&TrustStore>,
    global: &Global,
    host: &Host,
) -> Result<PathBuf, Failure> {
    if global.directory.is_some() {
        return host.root(global);
    }
    let own = host.absolute(Path::new("")).ok();
    let works_in: Vec<&Path> = asked.cwd.iter().chain(&own).map(PathBuf::as_path).collect();
    let started_in = protocol.directory_variable().and_then(|name| host.var(name)).map(Path::new);
    let trusted = store.and_then(|store| trusted_root(store, started_in, &works_in));
    match (trusted, works_in.first()) {
        (Some(root), _) => Ok(root),
        (None, Some(cwd)) => Ok(find_root(cwd).unwrap_or_else(|| (*cwd).to_owned())),
        (None, None) => host.root(global),
    }
}

fn kept_in(host: &Host) -> Result<PathBuf, Failure> {
    let none = || {
        Failure::usage("there is no place to keep the agent's session in")
            .advise("Set HOME, or SAMUEL_STATE_DIR to a directory of your own.")
    };
    Ok(host.state_dir().ok_or_else(none)?.join("agent-sessions"))
}
