//! `hooks`: listing, showing, checking and trying out hooks.

use std::path::Path;

use samuel_core::{
    dialect::{EventType, HookSchema},
    engine::{HookTrial, HookValidation, Hooks, HooksError},
    hook::{HookPoint, UnknownPoint},
    model::{Coded, ErrorCode},
    state::{Actor, HookLog, HookLogFilter},
    text::counted,
    trust::Executables,
};
use serde_json::{Value, json};

use super::{
    block_on_or_leave, bridge, scaffold,
    setup::{equip, validation},
};
use crate::{
    args::{EventArgs, FireArgs, Global, HookSchemaArgs, HooksCommand, HooksTestArgs, LogArgs, ShowArgs},
    failure::Failure,
    host::Host,
    input::Input,
    render::{
        firing_text, hook_list_text, hook_log_text, point_text, shown_hooks_text, trial_text, validation_text,
    },
    reply::Reply,
    trust,
};

/// Carries out a command about hooks.
pub(crate) fn run(command: HooksCommand, global: &Global, host: &Host) -> Result<Reply, Failure> {
    match command {
        HooksCommand::List => list(global, host),
        HooksCommand::Show(args) => show(&args, global, host),
        HooksCommand::Validate => validate(global, host),
        HooksCommand::Test(args) => test(&args, global, host),
        HooksCommand::Fire(args) => fire(&args, global, host),
        HooksCommand::Log(args) => log(args, global, host),
        HooksCommand::Bridge(args) => bridge::answer(&args, global, host),
        HooksCommand::Scaffold(args) => scaffold::run(args, global, host),
        HooksCommand::Schema(args) => schema(&args),
    }
}

/// Puts the chains in order as for a run, which changes nothing of the plan that is kept.
pub(super) fn in_order(global: &Global, host: &Host) -> Result<Hooks, Failure> {
    Ok(equip(host.project(global, None)?.in_memory(), host)?.hooks()?)
}

fn list(global: &Global, host: &Host) -> Result<Reply, Failure> {
    let hooks = in_order(global, host)?;
    let list = hooks.list();
    Ok(Reply::new(&list, hook_list_text(&list)).warn(hooks.warnings()))
}

/// Shows a point's chain, and what its handlers are given and answer; or a hook.
fn show(args: &ShowArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let of_event = EventType::named(&args.what).map(EventType::point);
    let point = of_event.map_or_else(|| args.what.parse::<HookPoint>(), Ok);
    // Ids have a colon with a handler's name behind it, and so have points.
    let hooks = match &point {
        Err(unknown) if !args.what.contains(':') => {
            // The points are known even if the hooks cannot be read.
            let hooks = in_order(global, host).map_err(|error| match unknown.nearest {
                Some(_) => unknown_point(unknown),
                None => error,
            })?;
            if let Err(error @ HooksError::Unknown { .. }) = hooks.find(&args.what, None) {
                return Err(unknown_word(&args.what, unknown, &error));
            }
            hooks
        }
        _ => in_order(global, host)?,
    };
    let point = match point {
        Ok(point) => point,
        Err(_) => return show_hook(args, &hooks),
    };
    let report = hooks.point(point);
    let warnings = report.chain.warnings.clone();
    Ok(Reply::new(&report, point_text(&report)).warn(warnings))
}

/// Reports a word that is neither a hook point nor a hook. Suggests a hook if the word is its name, or if no point is
/// similar.
fn unknown_word(word: &str, unknown: &UnknownPoint, error: &HooksError) -> Failure {
    match error {
        HooksError::Unknown { nearest: Some(_), .. }
            if unknown.nearest.is_none() || is_named(error, word) =>
        {
            of_hooks(error)
        }
        _ => unknown_point(unknown),
    }
}

/// Returns whether a word is the name of the suggested hook: the part of its id after the colon.
fn is_named(error: &HooksError, word: &str) -> bool {
    let HooksError::Unknown { nearest: Some(id), .. } = error else { return false };
    id.split_once(':').is_some_and(|(_, name)| name == word)
}

/// Shows a hook by its id, which is no point.
fn show_hook(args: &ShowArgs, hooks: &Hooks) -> Result<Reply, Failure> {
    let shown = hooks.show(&args.what, args.expanded).map_err(|error| of_hooks(&error))?;
    Ok(Reply::new(&shown, shown_hooks_text(&shown)))
}

fn validate(global: &Global, host: &Host) -> Result<Reply, Failure> {
    let found: HookValidation = validation(global, host)?;
    let text = validation_text(&found);
    if found.is_valid() {
        return Ok(Reply::new(&found, text));
    }
    let message = format!("{} in hooks", counted(found.problems.len(), "problem"));
    let failure = Failure::new(ErrorCode::HOOK_INVALID, message).with_data(json!(found));
    Err(failure.with_text(text))
}

fn test(args: &HooksTestArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let wanted = args.point.as_deref().map(parsed).transpose()?;
    let hooks = in_order(global, host)?;
    let point = hooks.find(&args.id, wanted).map_err(|error| of_hooks(&error))?;
    let event = read_event(&args.event, host)?;
    allow(hooks.root(), &hooks.executables(point, Some(&args.id)), &args.event, host)?;
    let trial = block_on_or_leave(hooks.test(point, &args.id, event))?.map_err(|error| of_hooks(&error))?;
    let text = trial_text(&trial);
    match failed(&trial) {
        None => Ok(Reply::new(&trial, text)),
        Some(failure) => Err(failure.with_data(json!(trial)).with_text(text)),
    }
}

/// Says how a hook broke, or how what it ran failed.
fn failed(trial: &HookTrial) -> Option<Failure> {
    let class = trial.class?;
    let message = match &trial.failure {
        Some(failure) => format!("{} broke: {failure}", trial.id),
        None => format!("{} failed: {class}", trial.id),
    };
    Some(Failure::new(class.code(), message).exit_with(Some(1)))
}

fn fire(args: &FireArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let point = parsed(&args.point)?;
    let hooks = in_order(global, host)?;
    let event = read_event(&args.event, host)?;
    if args.dry_run {
        let firing = hooks.look(point, event).map_err(|error| of_hooks(&error))?;
        return Ok(Reply::new(&firing, firing_text(&firing)));
    }
    allow(hooks.root(), &hooks.executables(point, None), &args.event, host)?;
    let firing = block_on_or_leave(hooks.fire(point, event))?.map_err(|error| of_hooks(&error))?;
    let text = firing_text(&firing);
    let abort = firing.outcome.as_ref().and_then(|outcome| outcome.abort.as_ref());
    match abort {
        None => Ok(Reply::new(&firing, text)),
        Some(abort) => {
            let failure = Failure::new(abort.failure.class.code(), abort.to_string()).exit_with(Some(1));
            Err(failure.with_data(json!(firing)).with_text(text))
        }
    }
}

fn log(args: LogArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let LogArgs { id, point, limit } = args;
    let point = point.as_deref().map(parsed).transpose()?.map(|point| point.to_string());
    let project = host.plan_of(global, None)?;
    let log = HookLog::read(&project.run_dir(), &HookLogFilter { id, point, limit: Some(limit) })?;
    let text = hook_log_text(&log);
    Ok(Reply::new(&log, text))
}

/// Prints a schema of repository hooks, or all of them by name.
fn schema(args: &HookSchemaArgs) -> Result<Reply, Failure> {
    let schema = match &args.name {
        None => {
            let all = HookSchema::all().map(|schema| (schema.as_str().to_owned(), schema.document()));
            Value::Object(all.collect())
        }
        Some(name) => match HookSchema::named(name) {
            Some(schema) => schema.document(),
            None => {
                let known: Vec<&str> = HookSchema::all().map(HookSchema::as_str).collect();
                let failure = Failure::usage(format!("there is no schema \"{name}\" of repository hooks"));
                return Err(failure.advise(format!("There are: {}.", known.join(", "))));
            }
        },
    };
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    Ok(Reply::new(schema, text))
}

/// Refuses to run what nobody has allowed, and an agent to try out hooks of its own run.
fn allow(root: &Path, executables: &Executables, args: &EventArgs, host: &Host) -> Result<(), Failure> {
    if executables.is_empty() {
        return Ok(());
    }
    // To the system the agent of a run is the user.
    if host.actor() == Actor::Agent {
        let failure = Failure::new(ErrorCode::TRUST_REFUSED, "an agent cannot run the hooks of its run");
        return Err(failure.advise("Have a person run this command in another terminal."));
    }
    trust::allow_these(root, executables, args.yes, host)
}

fn read_event(args: &EventArgs, host: &Host) -> Result<Option<Value>, Failure> {
    let Some(file) = &args.event else { return Ok(None) };
    let Input { name, bytes } = Input::read(Some(file), host)?;
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let read = serde_json::from_slice(bytes);
    read.map(Some).map_err(|error: serde_json::Error| {
        let failure = Failure::new(ErrorCode::JSON_INVALID, "the event is no JSON").because(&error);
        failure.at_place(&name, error.line(), error.column())
    })
}

/// Reads a hook point, or the name that repository hooks have for it.
fn parsed(point: &str) -> Result<HookPoint, Failure> {
    if let Some(event_type) = EventType::named(point) {
        return Ok(event_type.point());
    }
    point.parse().map_err(|unknown| unknown_point(&unknown))
}

fn of_hooks(error: &HooksError) -> Failure {
    Failure::of(error as &dyn Coded)
}

pub(super) fn unknown_point(unknown: &UnknownPoint) -> Failure {
    let known: Vec<&str> = HookPoint::ALL.iter().map(|point| point.as_str()).collect();
    let nearest = unknown.nearest.map(|point| format!("Did you mean \"{point}\"? ")).unwrap_or_default();
    Failure::new(ErrorCode::HOOK_UNKNOWN, unknown.to_string())
        .advise(format!("{nearest}The hook points are {}.", known.join(", ")))
}
