//! `hooks bridge`: answering a hook of an agent.

use std::{io, path::PathBuf, time::Duration};

use samuel_core::{
    agent::bridge::{self, Answer, Asked, Protocol},
    project::find_root,
    session::{
        SessionBuilder,
        bridge::{HookStart, KeptSessions, RunAddress, fire_alone},
    },
    state::Actor,
};

use super::{block_on, setup::equip};
use crate::{
    args::{BridgeArgs, Global},
    failure::Failure,
    host::Host,
    reply::Reply,
    trust,
};

/// Answers the hook that this process was started for.
pub(super) fn answer(args: &BridgeArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let protocol = bridge::protocol(&args.agent)
        .ok_or_else(|| Failure::usage(format!("no agent \"{}\" has hooks", args.agent)))?;
    let event = args.event.as_deref().map(|event| bridge::at(protocol, event)).transpose();
    let event = event.map_err(|error| {
        Failure::usage(error.to_string()).advise("Name one of them, or leave the event out.")
    })?;
    let run = RunAddress::of_env(|name| host.var(name));
    if run.is_none() && host.actor() == Actor::Agent {
        // Sessions and prompts within a run are its own, and this one wants to know of no calls.
        return Ok(Reply::default());
    }
    let start = HookStart { protocol, event, deadline: args.deadline, run };
    let (global, host) = (global.clone(), host.clone());
    let alone = move |asked: &Asked, _: Duration| {
        alone(protocol, asked, &global, &host).map_err(|failure| failure.whole_message())
    };
    let output = start.answer(io::stdin(), alone).map_err(|none| {
        Failure::usage(none.to_string())
            .advise("Name the event behind the agent, as docs/agent-hooks.md shows.")
    })?;
    let warnings = output.stderr.lines().map(str::to_owned);
    Ok(Reply { text: output.stdout, ..Reply::default() }.for_a_program().warn(warnings))
}

/// Fires the point in the project that the agent works in.
fn alone(protocol: &dyn Protocol, asked: &Asked, global: &Global, host: &Host) -> Result<Answer, Failure> {
    let root = match (&global.directory, &asked.cwd) {
        (None, Some(cwd)) => find_root(cwd).unwrap_or_else(|| cwd.clone()),
        _ => host.root(global)?,
    };
    let project = host.project(&Global { directory: Some(root.clone()), ..global.clone() }, None)?;
    let session = SessionBuilder::from(equip(project, host)?).trust(trust::recorded(host));
    let kept = KeptSessions::new(kept_in(host)?);
    let fired = block_on(fire_alone(session, &root, &kept, protocol, asked))?;
    fired.map_err(|error| Failure::of(&error))
}

fn kept_in(host: &Host) -> Result<PathBuf, Failure> {
    let none = || {
        Failure::usage("there is no place to keep the agent's session in")
            .advise("Set HOME, or SAMUEL_STATE_DIR to a directory of your own.")
    };
    Ok(host.state_dir().ok_or_else(none)?.join("agent-sessions"))
}
