//! `hooks scaffold`: writing a new repository hook.

use samuel_core::{
    dialect::{EventType, NewHook, ScaffoldedHook, ScriptLanguage},
    model::Coded,
};
use serde_json::Map;

use crate::{
    args::{Global, ScaffoldArgs, event_type, language},
    failure::Failure,
    host::Host,
    render::safe,
    reply::Reply,
    trust::answered,
};

/// How often a question is asked whose answer is none.
const TRIES: usize = 3;

/// Writes a hook as it is described by flags, or by answers.
pub(super) fn run(args: ScaffoldArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let root = host.root(global)?;
    let hook = match (&args.id, args.event) {
        (Some(id), Some(event_type)) => given(id.clone(), event_type, &args),
        _ if host.can_ask => asked(args)?,
        (id, _) => {
            let missing = if id.is_none() { "ID" } else { "--event" };
            let failure = Failure::usage(format!("{missing} is missing, and there is no terminal to ask on"));
            return Err(
                failure.advise("Give both, as in `samuel hooks scaffold tracker --event PostAbilityCall`.")
            );
        }
    };
    let made = hook.write(&root).map_err(|error| Failure::of(&error as &dyn Coded))?;
    let text = told(&made);
    Ok(Reply::new(&made, text).warn(in_vain(&hook)))
}

/// Describes the hook that flags ask for.
fn given(id: String, event_type: EventType, args: &ScaffoldArgs) -> NewHook {
    NewHook {
        summary: args.summary.clone().unwrap_or_default(),
        blocking: args.blocking,
        ability_scope: args.scope.clone(),
        min_duration_ms: args.min_duration.unwrap_or_default(),
        only_if_changed_paths: args.changed.clone(),
        language: args.language.unwrap_or_default(),
        ..NewHook::new(id, event_type)
    }
}

/// Says which flags have no effect at the event, which are then not in the file.
fn in_vain(hook: &NewHook) -> Vec<String> {
    let event = hook.event_type;
    let is_after = event == EventType::PostAbilityCall;
    let flags = [
        ("--blocking", hook.blocking && !event.can_block()),
        ("--scope", !hook.ability_scope.is_empty() && !event.is_of_ability()),
        ("--min-duration", hook.min_duration_ms > 0 && !is_after),
        ("--changed", !hook.only_if_changed_paths.is_empty() && !event.has_changed_files()),
    ];
    let in_vain = flags.into_iter().filter(|(_, in_vain)| *in_vain);
    in_vain
        .map(|(flag, _)| format!("{flag} has no effect at {}, and is not in the file", event.as_str()))
        .collect()
}

/// Asks for what flags do not say, where the event knows of it.
fn asked(args: ScaffoldArgs) -> Result<NewHook, Failure> {
    let id = match &args.id {
        Some(id) => id.clone(),
        None => answer("Its name (small letters, digits, - and _)", "", |text| match text {
            "" => Err("it needs one".to_owned()),
            text => Ok(text.to_owned()),
        })?,
    };
    let event = match args.event {
        Some(event) => event,
        None => {
            let events = EventType::ALL.map(EventType::as_str).join(", ");
            answer(&format!("When it runs ({events})"), EventType::PostAbilityCall.as_str(), event_type)?
        }
    };
    let mut hook = given(id, event, &args);
    if args.summary.is_none() {
        hook.summary = answer("What it is for, in a sentence", "", |text| Ok(text.to_owned()))?;
    }
    if !args.blocking && event.can_block() {
        hook.blocking = answer("Can it stop what it is asked about? (yes, no)", "no", yes_or_no)?;
    }
    if args.scope.is_empty() && event.is_of_ability() {
        hook.ability_scope = answer("Which abilities (globs with commas between)", "*", globs)?;
    }
    if args.min_duration.is_none() && event == EventType::PostAbilityCall {
        let number = |text: &str| text.parse().map_err(|_| "it is a whole number".to_owned());
        hook.min_duration_ms = answer("How long a call took at least, in milliseconds", "0", number)?;
    }
    if args.changed.is_empty() && event == EventType::SessionStop {
        hook.only_if_changed_paths = answer("Only where these paths were changed (globs)", "**", globs)?;
    }
    if args.language.is_none() {
        let languages = ScriptLanguage::ALL.map(ScriptLanguage::as_str).join(", ");
        let default = ScriptLanguage::default().as_str();
        hook.language = answer(&format!("What its script is written in ({languages})"), default, language)?;
    }
    Ok(hook)
}

/// Asks until an answer can be read; an empty one is the default.
fn answer<T>(question: &str, default: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, Failure> {
    let shown =
        if default.is_empty() { format!("{question}: ") } else { format!("{question} [{default}]: ") };
    let mut hint = String::new();
    for _ in 0..TRIES {
        let Some(text) = answered(&format!("{hint}{shown}")) else { break };
        let text = if text.trim().is_empty() { default } else { text.trim() };
        match read(text) {
            Ok(value) => return Ok(value),
            Err(why) => hint = format!("\"{}\" cannot be used: {}\n", safe(text), safe(&why)),
        }
    }
    Err(Failure::usage("nothing was written: a question was not answered")
        .advise("Give the answers as flags."))
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err("answer yes or no".to_owned()),
    }
}

fn globs(text: &str) -> Result<Vec<String>, String> {
    Ok(text.split(',').map(|glob| glob.trim().to_owned()).filter(|glob| !glob.is_empty()).collect())
}

/// Says how the hook is tried out, with an event that it is for.
fn next(made: &ScaffoldedHook) -> String {
    let test = format!("samuel hooks test {}", made.id);
    match &made.event {
        None => format!("{test} --event FILE, with an event in it that the hook is for"),
        Some(event) if event.as_object().is_some_and(Map::is_empty) => test,
        Some(event) => match shlex::try_quote(&event.to_string()) {
            Ok(event) => format!("echo {event} | {test} --event -"),
            Err(_) => format!("{test} --event FILE"),
        },
    }
}

/// Sums up what was written, and says what comes next.
fn told(made: &ScaffoldedHook) -> String {
    let (file, script) = (safe(&made.file.display().to_string()), safe(&made.script.display().to_string()));
    let matches = if made.matches.is_empty() { "every time".to_owned() } else { safe(&made.matches) };
    format!(
        "Wrote {file} and {script}.\n  id        {}\n  event     {} ({})\n  blocking  {}\n  match     {matches}\nNext: {}\n",
        safe(&made.id),
        made.event_type,
        made.point,
        made.blocking,
        safe(&next(made))
    )
}
