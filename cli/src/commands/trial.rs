//! `plugin test`: trying a plugin out, once or whenever its files change.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use samuel_core::{
    clock::SystemClock,
    hook::HookPoint,
    model::ErrorCode,
    plugin::{MANIFEST_FILE, PluginError, Trial, TrialOptions, TrialProgress, TrialStep, try_out},
    text::{counted, lasting},
};
use serde_json::{Map, Value, json};

use super::{
    block_on_or_leave,
    hooks::unknown_point,
    link::{state_of, until_changed},
    plugin::build_again,
    plugins::load_options,
};
use crate::{
    args::{Global, PluginTestArgs},
    failure::{Failure, io_failure},
    host::Host,
    input::Input,
    render::{Envelope, milliseconds, safe, safe_lines},
    reply::{Reply, described},
    terminal::{Stream, remark, show},
};

/// The command, as its documents name it.
const NAME: &str = "plugin test";
/// How many reports of a handler are shown to people, and how many characters of each.
const SHOWN_REPORTS: usize = 20;
const SHOWN_CHARS: usize = 200;

/// Tries a plugin out.
pub(crate) fn test(args: &PluginTestArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    match args.watch {
        true => watch(args, global, host),
        false => block_on_or_leave(tried(args, global, host))?,
    }
}

async fn tried(args: &PluginTestArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let directory = directory_of(args, global, host)?;
    let point = args.point.as_deref().map(str::parse::<HookPoint>).transpose();
    let point = point.map_err(|unknown| unknown_point(&unknown))?;
    // Without a project it sees an empty one, which it cannot harm.
    let empty = tempfile::tempdir().map_err(|error| io_failure("create", &std::env::temp_dir(), &error))?;
    let project_root = match &args.project {
        Some(directory) => existing(host.absolute(directory)?)?,
        None => empty.path().to_owned(),
    };
    let options = TrialOptions {
        project_root,
        load: load_options(host)?,
        clock: Arc::new(SystemClock::new()),
        point,
        config: args.config.as_deref().map(|file| settings(file, host)).transpose()?.unwrap_or_default(),
        input: args.input.as_deref().map(|file| object(file, host)).transpose()?,
        timeout: Some(args.timeout),
        progress: progress(global, host),
    };
    let trials = try_out(&directory, &options).await?;
    let data = json!({ "trials": trials });
    let text: String = trials.iter().map(trial_text).collect();
    let broken: Vec<&Trial> = trials.iter().filter(|trial| trial.failure.is_some()).collect();
    match broken.as_slice() {
        [] if trials.is_empty() => Ok(Reply::new(data, "The plugin handles no hook point\n")),
        [] => Ok(Reply::new(data, text)),
        [first, ..] => {
            let class = first.failure.as_ref().map_or(ErrorCode::HOOK_FAILED, |failure| failure.class.code());
            let message = format!("{} of {} broke", broken.len(), counted(trials.len(), "handler"));
            Err(Failure::new(class, message).with_data(data).detail(text.lines().map(str::to_owned)))
        }
    }
}

/// Returns the directory of the plugin, which is looked for where `-C` says, as by the other commands that make one.
fn directory_of(args: &PluginTestArgs, global: &Global, host: &Host) -> Result<PathBuf, Failure> {
    let directory = host.directory(global)?.join(&args.plugin);
    // Of other commands -C names the project, and so somebody may mean it here.
    if global.directory.is_some() && !directory.join(MANIFEST_FILE).exists() {
        let failure = Failure::from(PluginError::NoManifest { directory });
        return Err(failure.advise(
            "-C says where the plugin is looked for; `--project <dir>` names the project that it sees.",
        ));
    }
    Ok(directory)
}

/// Says on a terminal what takes its time.
fn progress(global: &Global, host: &Host) -> TrialProgress {
    if global.json || !host.can_draw {
        return TrialProgress::default();
    }
    TrialProgress::to(|step| match step {
        TrialStep::Load { bytes: Some(bytes) } => {
            remark(&format!("loading the component, {:.1} MB; a new one is compiled", bytes as f64 / 1e6));
        }
        TrialStep::Fire(point) => remark(&format!("firing {point}")),
        _ => {}
    })
}

/// Makes sure that a directory is one.
fn existing(directory: PathBuf) -> Result<PathBuf, Failure> {
    match directory.is_dir() {
        true => Ok(directory.canonicalize().unwrap_or(directory)),
        false => Err(Failure::usage(format!("{} is not a directory", directory.display()))),
    }
}

/// Reads a JSON object.
fn object(file: &Path, host: &Host) -> Result<Map<String, Value>, Failure> {
    let Input { name, bytes } = Input::read(Some(file), host)?;
    serde_json::from_slice(&bytes).map_err(|error: serde_json::Error| {
        let failure = Failure::new(ErrorCode::JSON_INVALID, "that is no JSON object").because(&error);
        failure.at_place(&name, error.line(), error.column())
    })
}

/// Reads settings: JSON where the file is called so, else TOML.
fn settings(file: &Path, host: &Host) -> Result<Map<String, Value>, Failure> {
    if file.extension().is_some_and(|ending| ending == "json") {
        return object(file, host);
    }
    let Input { name, bytes } = Input::read(Some(file), host)?;
    let text = String::from_utf8_lossy(&bytes);
    toml::from_str(&text).map_err(|error| {
        Failure::new(ErrorCode::CONFIG_INVALID, "the settings are no TOML").at(&name).because(&error)
    })
}

/// Tries a plugin out whenever its files change, until a signal ends it.
fn watch(args: &PluginTestArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let directory = existing(directory_of(args, global, host)?)?;
    block_on_or_leave(async {
        loop {
            let before = state_of(&directory);
            match tried_again(&directory, args, global, host).await {
                // A document for each trial, each on a line of its own.
                trial if global.json => {
                    show(Stream::Out, &Envelope::of(NAME, &trial).to_line()).unwrap_or_default();
                }
                Err(failure) => remark(&described(&failure)),
                Ok(reply) => show(Stream::Out, &reply.text).unwrap_or_default(),
            }
            until_changed(&directory, before.ok()).await;
        }
    })
}

/// Builds a plugin where there is something to build, and tries it out.
async fn tried_again(
    directory: &Path,
    args: &PluginTestArgs,
    global: &Global,
    host: &Host,
) -> Result<Reply, Failure> {
    build_again(directory, host).await?;
    tried(args, global, host).await
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

fn trial_text(trial: &Trial) -> String {
    let mut text =
        format!("{} {} {}", trial.point, safe(&trial.handler), lasting(milliseconds(trial.took_ms)));
    match (&trial.failure, &trial.refused) {
        (Some(failure), _) => {
            text.push_str(&format!(" broke\n  {}\n", safe(&failure.to_string())));
            failure.details.iter().for_each(|line| text.push_str(&format!("    {}\n", safe(line))));
        }
        (None, Some(reason)) => text.push_str(&format!(" refused: {}\n", safe(reason))),
        (None, None) => text.push_str(" ok\n"),
    }
    for warning in &trial.warnings {
        text.push_str(&format!("  warning: {}\n", safe(&warning.message)));
    }
    for line in &trial.logged {
        text.push_str(&format!("  log {}: {}\n", line.level, safe(&line.message)));
    }
    for report in trial.reports.iter().take(SHOWN_REPORTS) {
        let shown = serde_json::to_string(report).unwrap_or_default();
        text.push_str(&format!("  reported {}\n", shortened(&safe(&shown))));
    }
    let more = trial.reports.len().saturating_sub(SHOWN_REPORTS) + trial.reports_left_out;
    if more > 0 {
        text.push_str(&format!("  {} more\n", counted(more, "report")));
    }
    if let Some(output) = &trial.output {
        let shown = serde_json::to_string_pretty(output).unwrap_or_default();
        safe_lines(&shown).lines().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    if !trial.contributed.is_empty() {
        let shown = serde_json::Value::Object(trial.contributed.clone()).to_string();
        text.push_str(&format!("  contributed {}\n", safe(&shown)));
    }
    text
}
