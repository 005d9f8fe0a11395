//! The commands: from arguments to an answer.

mod change;
mod doctor;
mod hooks;
mod init;
mod lifecycle;
mod look;
mod plugin;
mod plugins;
mod preview;
mod restore;
mod setup;
mod start;
mod toon;

pub(crate) use start::{Show, run_to_its_end};

use std::time::Duration;

use samuel_core::config::RUN_SUBCOMMANDS;

use crate::{
    args::{
        Cli, Command, DoctorArgs, Global, HooksCommand, PluginCommand, RunArgs, RunCommand, TaskCommand,
        ToonCommand,
    },
    demo,
    failure::Failure,
    host::Host,
    reply::Reply,
};

/// Returns the name of a command, as in its JSON document.
pub(crate) fn name(command: &Command) -> String {
    let run = match command {
        Command::Run(run) | Command::Auto(run) => run,
        Command::Init(_) => return "init".to_owned(),
        Command::Sync(_) => return "sync".to_owned(),
        Command::Doctor(_) => return "doctor".to_owned(),
        Command::Hooks(HooksCommand::Show(_)) => return "hooks show".to_owned(),
        Command::Install(_) => return "install".to_owned(),
        Command::Ls(_) => return "ls".to_owned(),
        Command::Info(_) => return "info".to_owned(),
        Command::Uninstall(_) => return "uninstall".to_owned(),
        Command::Verify(_) => return "verify".to_owned(),
        Command::Plugin(command) => return format!("plugin {}", plugin_name(command)),
        Command::Toon(ToonCommand::Encode(_)) => return "toon encode".to_owned(),
        Command::Toon(ToonCommand::Decode(_)) => return "toon decode".to_owned(),
        Command::Toon(ToonCommand::Check(_)) => return "toon check".to_owned(),
        Command::Toon(ToonCommand::Recover(_)) => return "toon recover".to_owned(),
        Command::Toon(ToonCommand::Stats(_)) => return "toon stats".to_owned(),
        Command::Demo(_) => return "demo".to_owned(),
    };
    let of_run = match &run.command {
        None => return "run".to_owned(),
        Some(RunCommand::Init(_)) => "init",
        Some(RunCommand::Convert(_)) => "convert",
        Some(RunCommand::Start(_)) => "start",
        Some(RunCommand::Status) => "status",
        Some(RunCommand::Tasks) => "tasks",
        Some(RunCommand::Done(_)) => "done",
        Some(RunCommand::Skip(_)) => "skip",
        Some(RunCommand::Reset(_)) => "reset",
        Some(RunCommand::Enqueue(_)) => "enqueue",
        Some(RunCommand::Task(TaskCommand::Add(_))) => "task add",
        Some(RunCommand::Restore(_)) => "restore",
        Some(RunCommand::Prompt(_)) => "prompt",
        Some(RunCommand::Vars(_)) => "vars",
    };
    format!("run {of_run}")
}

fn plugin_name(command: &PluginCommand) -> &'static str {
    match command {
        PluginCommand::Validate(_) => "validate",
        PluginCommand::Schema => "schema",
        PluginCommand::New(_) => "new",
        PluginCommand::Build(_) => "build",
        PluginCommand::Test(_) => "test",
    }
}

/// Guesses the name of a command that could not be parsed.
pub(crate) fn name_of_words(words: &[std::ffi::OsString]) -> String {
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str());
    let plain = ["demo", "init", "sync", "doctor", "install", "ls", "info", "uninstall", "verify"];
    let top = ["run", "auto", "hooks", "plugin", "toon"].iter().chain(&plain);
    let of_plugin = ["validate", "schema", "new", "build", "test"];
    match words.find(|word| top.clone().any(|known| known == word)) {
        None => "samuel".to_owned(),
        Some("hooks") => "hooks show".to_owned(),
        Some("plugin") => match words.find(|word| of_plugin.contains(word)) {
            Some(command) => format!("plugin {command}"),
            None => "plugin".to_owned(),
        },
        Some("toon") => match words.find(|word| toon::VERBS.contains(word)) {
            Some(verb) => format!("toon {verb}"),
            None => "toon".to_owned(),
        },
        Some(top) if plain.contains(&top) => top.to_owned(),
        Some(_) => match words.find(|word| RUN_SUBCOMMANDS.contains(word)) {
            Some("task") => "run task add".to_owned(),
            Some(command) => format!("run {command}"),
            None => "run".to_owned(),
        },
    }
}

/// Carries out a command.
pub(crate) fn run(cli: Cli, host: &Host) -> Result<Reply, Failure> {
    match cli.command {
        Command::Run(run) | Command::Auto(run) => run_methodology(run, &cli.global, host),
        Command::Init(args) => lifecycle::init(&args, &cli.global, host),
        Command::Sync(args) => lifecycle::sync(&args, &cli.global, host),
        Command::Doctor(DoctorArgs { hooks: true, .. }) => doctor::hooks(&cli.global, host),
        Command::Doctor(DoctorArgs { fix: true, yes, .. }) => doctor::fix(yes, &cli.global, host),
        Command::Doctor(_) => doctor::check(&cli.global, host),
        Command::Hooks(HooksCommand::Show(args)) => hooks::show(&args, &cli.global, host),
        Command::Install(args) => plugins::install(&args, &cli.global, host),
        Command::Ls(args) => plugins::ls(&args, &cli.global, host),
        Command::Info(args) => plugins::info(&args, &cli.global, host),
        Command::Uninstall(args) => plugins::uninstall(&args, &cli.global, host),
        Command::Verify(args) => plugins::verify(&args, &cli.global, host),
        Command::Plugin(command) => plugin::run(command, &cli.global, host),
        Command::Toon(command) => toon::run(&command, host),
        Command::Demo(args) => demo::run(&args, &cli.global, host),
    }
}

fn run_methodology(args: RunArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let project = host.project(global, args.methodology.as_deref());
    let project = project.map_err(|failure| look::at_methodology(failure, args.methodology.as_deref()))?;
    let done = match args.command {
        None => look::bare(&project, host),
        Some(RunCommand::Init(args)) => init::init(&project, &args, host),
        Some(RunCommand::Convert(args)) => init::convert(&project, &args, host),
        Some(RunCommand::Start(args)) => start::start(project.clone(), *args, global, host),
        Some(RunCommand::Status) => look::status(&project, host),
        Some(RunCommand::Tasks) => look::tasks(&project, global),
        Some(RunCommand::Done(args)) => change::done(&project, args, host),
        Some(RunCommand::Skip(args)) => change::skip(&project, args, host),
        Some(RunCommand::Reset(args)) => change::reset(&project, args, host),
        Some(RunCommand::Enqueue(args)) => change::enqueue(&project, args, host),
        Some(RunCommand::Task(TaskCommand::Add(args))) => change::add(&project, args, host),
        Some(RunCommand::Restore(args)) => restore::restore(&project, &args),
        Some(RunCommand::Prompt(args)) => preview::prompt(project.clone(), &args, host),
        Some(RunCommand::Vars(args)) => preview::vars(project.clone(), &args, host),
    };
    done.map_err(|failure| restore::offer(failure, &project))
}

/// Runs something asynchronous to its end.
pub(crate) fn block_on<R>(work: impl Future<Output = R>) -> Result<R, Failure> {
    // A handler that nothing can end must not keep the process.
    block_on_and_wait(work, Duration::ZERO)
}

/// Runs something asynchronous to its end, and waits so long for what it left
/// behind on other threads.
pub(crate) fn block_on_and_wait<R>(work: impl Future<Output = R>, wait: Duration) -> Result<R, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::internal("no threads can be started").because(&error))?;
    let result = runtime.block_on(work);
    runtime.shutdown_timeout(wait);
    Ok(result)
}
