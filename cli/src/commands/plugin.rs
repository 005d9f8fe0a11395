//! `plugin`: making, checking, building and trying plugins.

use std::{sync::Arc, time::Duration};

use samuel_core::{
    clock::SystemClock,
    hook::HookPoint,
    model::ErrorCode,
    plugin::{
        BuildOptions, NewPlugin, PluginKind, Scaffolded, SdkSource, Trial, TrialOptions, build, check,
        manifest_schema, scaffold, try_out, update_sdk,
    },
    text::counted,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{block_on, hooks::unknown_point, plugins::load_options};
use crate::{
    args::{Global, NewPluginArgs, PluginCommand, PluginDirectory, PluginTestArgs},
    failure::{Failure, io_failure},
    host::Host,
    render::{safe, safe_lines},
    reply::Reply,
};

/// How long the tools of a language may take.
const BUILD_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How many reports of a handler are shown to people, and how many characters of each.
const SHOWN_REPORTS: usize = 20;
const SHOWN_CHARS: usize = 200;

/// Carries out a command about a plugin's directory.
pub(crate) fn run(command: PluginCommand, global: &Global, host: &Host) -> Result<Reply, Failure> {
    match command {
        PluginCommand::Validate(args) => validate(&args, global, host),
        PluginCommand::Schema => schema(),
        PluginCommand::New(args) => new(&args, global, host),
        PluginCommand::Build(args) => build_plugin(&args, global, host),
        PluginCommand::UpdateSdk(args) => renew_sdk(&args, global, host),
        PluginCommand::Test(args) => test(&args, global, host),
    }
}

fn validate(args: &PluginDirectory, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let directory = host.directory(global)?.join(&args.plugin);
    let manifest = check(&directory)?;
    let text = format!("{} {} is valid\n", safe(&manifest.name), manifest.version);
    Ok(Reply::new(json!({ "manifest": manifest }), text))
}

fn schema() -> Result<Reply, Failure> {
    let schema = manifest_schema();
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    Ok(Reply::new(schema, text))
}

fn new(args: &NewPluginArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let here = host.directory(global)?;
    let is_here = here.file_name().is_some_and(|name| name == args.name.as_str())
        && std::fs::read_dir(&here).is_ok_and(|mut entries| entries.next().is_none());
    let directory = match &args.path {
        Some(path) => here.join(path),
        None if is_here => here,
        None => here.join(&args.name),
    };
    let sdk = match (&args.sdk_path, &args.sdk_git, &args.sdk_version) {
        (Some(path), ..) => {
            let path = host.absolute(path)?;
            SdkSource::Path(path.canonicalize().map_err(|error| io_failure("find", &path, &error))?)
        }
        (None, Some(url), _) => SdkSource::Git(url.clone()),
        (None, None, Some(version)) => SdkSource::Registry(version.clone()),
        (None, None, None) => SdkSource::Carried,
    };
    let plugin = NewPlugin { name: args.name.clone(), kind: args.kind, language: args.lang, sdk };
    let done = scaffold(&directory, &plugin)?;
    Ok(Reply::new(&done, new_text(&done)))
}

fn new_text(done: &Scaffolded) -> String {
    let directory = safe(&done.directory.display().to_string());
    let mut text = format!("Created a plugin of kind {} in {}: {directory}\n", done.kind, done.language);
    let carried = |file: &&String| file.starts_with("wit/deps/") || file.starts_with("sdk/");
    let shown = done.files.iter().filter(|file| !carried(file));
    shown.for_each(|file| text.push_str(&format!("  wrote {}\n", safe(file))));
    let count = done.files.iter().filter(carried).count();
    if count > 0 {
        text.push_str(&format!("  wrote {} that it is built with\n", counted(count, "file")));
    }
    text + match done.kind {
        // Text has nothing to build.
        PluginKind::Skill | PluginKind::Methodology => {
            "Next: read its README.md, then `samuel plugin test` there\n"
        }
        _ => "Next: read its README.md, then `samuel plugin build` and `samuel plugin test` there\n",
    }
}

fn renew_sdk(args: &PluginDirectory, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let directory = host.directory(global)?.join(&args.plugin);
    let done = update_sdk(&directory)?;
    let mut text = match done.written.len() + done.removed.len() {
        0 => format!("Up to date: what the plugin carries is of Samuel {}\n", done.version),
        _ => format!("Renewed what the plugin carries, of Samuel {}\n", done.version),
    };
    done.written.iter().for_each(|file| text.push_str(&format!("  wrote {}\n", safe(file))));
    done.removed.iter().for_each(|file| text.push_str(&format!("  removed {}\n", safe(file))));
    Ok(Reply::new(&done, text))
}

fn build_plugin(args: &PluginDirectory, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let directory = host.directory(global)?.join(&args.plugin);
    let options = BuildOptions {
        env: host.env.clone(),
        supervisor: host.supervisor()?,
        timeout: BUILD_TIMEOUT,
        cancel: CancellationToken::new(),
    };
    let report = block_on(build(&directory, &options))??;
    let text = match (&report.command, &report.made) {
        (Some(command), made) => {
            let made = made.as_deref().unwrap_or_default();
            format!(
                "Built {} with {} in {:.1} s\n",
                safe(made),
                safe(command),
                report.took_ms as f64 / 1_000.0
            )
        }
        (None, _) => "Nothing has to be built; the plugin is valid\n".to_owned(),
    };
    Ok(Reply::new(&report, text))
}

fn test(args: &PluginTestArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let directory = host.absolute(&args.plugin)?;
    let point = args.point.as_deref().map(str::parse::<HookPoint>).transpose();
    let point = point.map_err(|unknown| unknown_point(&unknown))?;
    // Without a project it sees an empty one, which it cannot harm.
    let empty = tempfile::tempdir().map_err(|error| io_failure("create", &std::env::temp_dir(), &error))?;
    let project_root = match &global.directory {
        Some(directory) => host.absolute(directory)?,
        None => empty.path().to_owned(),
    };
    let clock = Arc::new(SystemClock::new());
    let options = TrialOptions { project_root, load: load_options(host)?, clock, point };
    let trials = block_on(try_out(&directory, &options))??;
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

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

fn trial_text(trial: &Trial) -> String {
    let mut text = format!("{} {} {:.1} ms", trial.point, safe(&trial.handler), trial.took_ms);
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
