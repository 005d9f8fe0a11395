//! The commands: from arguments to an answer.

mod bridge;
mod change;
mod control;
mod doctor;
mod history;
mod hooks;
mod in_call;
mod init;
mod lanes;
mod lifecycle;
mod link;
mod look;
mod plugin;
mod plugins;
mod preview;
mod restore;
mod revise;
mod sandbox;
mod scaffold;
mod schema;
mod setup;
mod start;
mod toon;
mod trial;
mod trust;
mod update;
mod updates;

pub(crate) use start::{Show, run_to_its_end};

use in_call::Asked;
use samuel_core::broker::PlanAccess;

use std::time::Duration;

use clap::{ArgMatches, CommandFactory as _};

use crate::{
    args::{Cli, Command, DoctorArgs, Global, RunArgs, RunCommand, TaskCommand},
    demo,
    failure::Failure,
    host::Host,
    logging,
    render::with_methodology,
    reply::Reply,
    signals::Signals,
};

/// How long a command that a signal ends waits for what puts itself away.
pub(crate) const PUTTING_AWAY: Duration = Duration::from_millis(300);

/// Returns the name of a command, as in its JSON document.
pub(crate) fn name(matches: &ArgMatches) -> String {
    let parts = std::iter::successors(matches.subcommand(), |(_, matches)| matches.subcommand());
    joined(parts.map(|(name, _)| name))
}

/// Joins the parts of a name; `auto` is another word for `run`.
fn joined<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.map(|part| if part == "auto" { "run" } else { part }).collect::<Vec<_>>().join(" ")
}

/// Guesses the name of a command that could not be parsed.
pub(crate) fn name_of_words(words: &[std::ffi::OsString]) -> String {
    let mut cli = Cli::command();
    cli.build();
    let (mut command, mut parts) = (&cli, Vec::new());
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(found) = command.find_subcommand(word).filter(|found| found.get_name() != "help") {
            parts.push(found.get_name());
            command = found;
        }
    }
    // One that has a single command means that one.
    let mut only = command.get_subcommands().map(clap::Command::get_name).filter(|name| *name != "help");
    if let (Some(inner), None) = (only.next(), only.next()) {
        parts.push(inner);
    }
    if parts.is_empty() { "samuel".to_owned() } else { joined(parts.into_iter()) }
}

/// Carries out a command.
pub(crate) fn run(cli: Cli, host: &Host) -> Result<Reply, Failure> {
    logging::install(cli.global.verbose, host)?;
    match cli.command {
        Command::Run(run) | Command::Auto(run) => run_methodology(run, &cli.global, host),
        Command::Init(args) => lifecycle::init(&args, &cli.global, host),
        Command::Sync(args) => lifecycle::sync(&args, &cli.global, host),
        Command::Doctor(DoctorArgs { hooks: true, .. }) => doctor::hooks(&cli.global, host),
        Command::Doctor(DoctorArgs { fix: true, yes, .. }) => doctor::fix(yes, &cli.global, host),
        Command::Doctor(_) => doctor::check(&cli.global, host),
        Command::Trust(args) => trust::trust(&args, &cli.global, host),
        Command::Hooks(command) => hooks::run(command, &cli.global, host),
        Command::Install(args) => plugins::install(&args, &cli.global, host),
        Command::Search(args) => updates::search(&args, host),
        Command::Outdated(args) => updates::outdated(&args, &cli.global, host),
        Command::Update(args) => updates::update(&args, &cli.global, host),
        Command::Ls(args) => plugins::ls(&args, &cli.global, host),
        Command::Info(args) => plugins::info(&args, &cli.global, host),
        Command::Uninstall(args) => plugins::uninstall(&args, &cli.global, host),
        Command::Verify(args) => plugins::verify(&args, &cli.global, host),
        Command::Plugin(command) => plugin::run(command, &cli.global, host),
        Command::Toon(command) => toon::run(&command, host),
        Command::Schema(args) => schema::print(&args),
        Command::Demo(args) => demo::run(&args, &cli.global, host),
    }
}

fn run_methodology(args: RunArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    if args.discover_only && !matches!(args.command, Some(RunCommand::Pilot(_))) {
        return Err(Failure::usage("--discover-only is an option of `pilot`, and of no other command")
            .advise("Use `samuel run --discover-only` alone, or `samuel run pilot --discover-only`."));
    }
    let origin = host.origin();
    let of_run = host.root(global).ok().and_then(|root| origin.methodology_at(&root));
    let methodology = args.methodology.as_deref().or(of_run);
    let told = match in_call::asked(&args, global, host)? {
        Asked::Run(plan) => {
            let done = on_plan(&plan, args.command, global, host);
            return done.map_err(|failure| restore::wait_for_loop(failure, &plan));
        }
        Asked::Files(told) => told,
    };
    let project = match &args.command {
        Some(
            RunCommand::Init(_)
            | RunCommand::Start(_)
            | RunCommand::Pilot(_)
            | RunCommand::Sandbox(_)
            | RunCommand::Lanes
            | RunCommand::Merge(_)
            | RunCommand::Clean
            | RunCommand::Queue(_)
            | RunCommand::Prompt(_)
            | RunCommand::Vars(_),
        ) => host.project(global, methodology),
        None
        | Some(
            RunCommand::Status
            | RunCommand::Tasks(_)
            | RunCommand::Show(_)
            | RunCommand::Runs
            | RunCommand::Log(_)
            | RunCommand::Why(_)
            | RunCommand::Report(_)
            | RunCommand::Pause
            | RunCommand::Resume(_)
            | RunCommand::Approve(_)
            | RunCommand::Deny(_)
            | RunCommand::Steer(_)
            | RunCommand::Stop(_)
            | RunCommand::Attach,
        ) => host.project_to_look_at(global, methodology),
        _ => host.plan_of(global, methodology),
    };
    let project = project.map_err(|failure| look::at_methodology(failure, args.methodology.as_deref()))?;
    let problem = project.problem().map(|problem| look::without_config(problem));
    let done = match args.command {
        Some(RunCommand::Init(args)) => init::init(&project, &args, host),
        Some(RunCommand::Convert(args)) => init::convert(&project, &args, host),
        Some(RunCommand::Start(args)) => start::start(project.clone(), *args, global, host),
        Some(RunCommand::Pilot(args)) => start::pilot(project.clone(), *args, methodology, global, host),
        Some(RunCommand::Pause) => control::pause(&project, host),
        Some(RunCommand::Resume(args)) => control::resume(&project, &args, host),
        Some(RunCommand::Approve(args)) => control::approve(&project, &args, host),
        Some(RunCommand::Deny(args)) => control::deny(&project, &args, host),
        Some(RunCommand::Steer(args)) => control::steer(&project, &args, host),
        Some(RunCommand::Stop(args)) => control::stop(&project, &args, host),
        Some(RunCommand::Attach) => control::attach(&project, global, host),
        Some(RunCommand::Answer(args)) => change::answer(&project.clone().into(), args, host),
        Some(RunCommand::Runs) => history::runs(&project),
        Some(RunCommand::Log(args)) => history::log(&project, &args, global),
        Some(RunCommand::Why(args)) => history::why(&project, args),
        Some(RunCommand::Report(args)) => history::report(&project, &args, global, host),
        Some(RunCommand::Edit(args)) => revise::edit(&project, *args, host),
        Some(RunCommand::Rm(args)) => revise::rm(&project, args, host),
        Some(RunCommand::Release(args)) => revise::release(&project, args, host),
        Some(RunCommand::Lanes) => lanes::lanes(&project, host),
        Some(RunCommand::Merge(args)) => lanes::merge(&project, args, global, host),
        Some(RunCommand::Clean) => lanes::clean(&project, host),
        Some(RunCommand::Queue(args)) => lanes::queue(&project, args, global, host),
        Some(RunCommand::Undo(args)) => revise::undo(&project, &args, host),
        Some(RunCommand::Restore(args)) => restore::restore(&project, &args),
        Some(RunCommand::Sandbox(command)) => sandbox::run(&project, &command, host),
        Some(RunCommand::Prompt(args)) => preview::prompt(project.clone(), &args, host),
        Some(RunCommand::Vars(args)) => preview::vars(project.clone(), &args, host),
        command => on_plan(&project.clone().into(), command, global, host),
    };
    done.map(|reply| reply.warn(told).warn(problem.clone())).map_err(|failure| {
        let failure = restore::offer(failure, &project).detail(problem);
        let help = with_methodology(&failure.help, &project);
        failure.advise(help)
    })
}

/// Carries out a command that a loop answers, too.
fn on_plan(
    plan: &PlanAccess,
    command: Option<RunCommand>,
    global: &Global,
    host: &Host,
) -> Result<Reply, Failure> {
    match command {
        None => look::bare(plan, host),
        Some(RunCommand::Status) => look::status(plan, host),
        Some(RunCommand::Tasks(args)) => look::tasks(plan, args, global),
        Some(RunCommand::Show(args)) => look::show(plan, &args, host),
        Some(RunCommand::Done(args)) => change::done(plan, args, host),
        Some(RunCommand::Skip(args)) => change::skip(plan, args, host),
        Some(RunCommand::Reset(args)) => change::reset(plan, args, host),
        Some(RunCommand::Enqueue(args)) => change::enqueue(plan, args, host),
        Some(RunCommand::Task(TaskCommand::Add(args))) => change::add(plan, args, host),
        Some(RunCommand::Block(args)) => revise::block(plan, args, host),
        Some(RunCommand::Ask(args)) => change::ask(plan, args, host),
        Some(RunCommand::Learn(args)) => change::learn(plan, args, host),
        Some(_) => Err(Failure::internal("no loop answers this command")),
    }
}

/// Runs something asynchronous to its end.
pub(crate) fn block_on<R>(work: impl Future<Output = R>) -> Result<R, Failure> {
    // A handler that nothing can end must not keep the process.
    block_on_and_wait(work, Duration::ZERO)
}

/// Runs something asynchronous until it ends or a signal does, so that it puts away what it
/// has made for itself.
pub(crate) fn block_on_or_leave<R>(work: impl Future<Output = R>) -> Result<R, Failure> {
    let ended = async {
        let mut signals = Signals::take_over()?;
        tokio::select! {
            biased;
            signal = signals.next() => Err(signal.left("left before it was done").advise("Run the command again.")),
            done = work => Ok(done),
        }
    };
    block_on_and_wait(ended, PUTTING_AWAY)?
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
