//! `start`: runs the loop and shows it.

use std::path::Path;

use samuel_core::{
    engine::{Profile, Run, RunError, RunHandle},
    event::{EventRecord, RunReport},
    lifecycle::Fresh,
    model::{ClaimPhase, ErrorCode, ExitReason, Plan, Remedy},
    project::Project,
    state::{Actor, Existing, PlanStore},
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    PUTTING_AWAY, block_on,
    look::require_plan,
    preview,
    setup::{Setting, builder},
};
use crate::{
    args::{Global, PilotArgs, StartArgs},
    failure::Failure,
    host::Host,
    render::{Places, Watch, end_text, profile_table, remedy_text, safe, safe_json, with_methodology},
    reply::Reply,
    signals::{self, Order, Signal, Signals},
    terminal::{self, Stream, remark},
    trust,
};

/// What a command has to know that takes the place of an agent.
const COMMAND_HINT: &str = "hint: the command is given each task's prompt on stdin, and has to record the task itself: \
                            `$SAMUEL_BINARY run done $SAMUEL_TASK_ID`. One that is not recorded stays open. A last turn for texts \
                            that still wait has no task, and no SAMUEL_TASK_ID.";

/// The same where the run also looks for tasks.
const LOOKING_HINT: &str = "hint: the command is given each prompt on stdin, and has to record what comes of it itself: in a discovery \
                            iteration each task that it finds, by `$SAMUEL_BINARY run enqueue <title>`; else the task \
                            that it was given, by `$SAMUEL_BINARY run done $SAMUEL_TASK_ID`. A last turn for texts that \
                            still wait has no task, and no SAMUEL_TASK_ID.";

/// What to do about a plan that has nothing in it.
const EMPTY_HINT: &str = "hint: `samuel run convert` and `samuel run enqueue` add tasks.";

/// Runs the loop until it ends.
pub(crate) fn start(
    project: Project,
    args: StartArgs,
    global: &Global,
    host: &Host,
) -> Result<Reply, Failure> {
    let setting = Setting::of(&args, &project)?;
    run(project, &setting, args, global, host)
}

/// Runs the loop and looks for tasks, until it ends.
pub(crate) fn pilot(
    project: Project,
    args: PilotArgs,
    methodology: Option<&str>,
    global: &Global,
    host: &Host,
) -> Result<Reply, Failure> {
    if !args.start.tasks.is_empty() {
        return Err(Failure::usage("a run that is for some tasks looks for no others")
            .advise("Leave out --task, or use `samuel run start`."));
    }
    let setting = Setting::of(&args.start, &project)?.looking(&args);
    match (project.plan_store().exists()?, args.start.dry_run) {
        (true, _) => run(project, &setting, args.start, global, host),
        (false, true) => {
            let project = project.in_memory();
            project.plan_store().import(Plan::default(), Actor::User, Existing::Refuse)?;
            run(project, &setting, args.start, global, host)
        }
        (false, false) => {
            let fresh = with_empty_plan(&project, global)?;
            let project = host.project(global, methodology);
            let ran = project.and_then(|project| run(project, &setting, args.start, global, host));
            // What was begun stays; a start that is refused leaves nothing behind.
            ran.map_err(|failure| match fresh.take_back() {
                Ok(false) => failure,
                Ok(true) => {
                    if !global.json {
                        remark(&format!("removed {}: nothing was run", written(&fresh)));
                    }
                    failure
                }
                Err(error) => {
                    remark(&format!("{} cannot be removed: {error}", written(&fresh)));
                    failure
                }
            })
        }
    }
}

/// Makes a project ready with an empty plan.
fn with_empty_plan(project: &Project, global: &Global) -> Result<Fresh, Failure> {
    let fresh = block_on(Fresh::make(project))??;
    if !global.json {
        let written = written(&fresh);
        remark(&format!("wrote {written}: there was no plan, so the run begins with an empty one"));
    }
    Ok(fresh)
}

/// Names the files that make a project ready.
fn written(fresh: &Fresh) -> String {
    let files = fresh.made.config.iter().chain([&fresh.made.plan]);
    let shown: Vec<String> = files.map(|path| safe(&path.display().to_string())).collect();
    shown.join(" and ")
}

fn run(
    project: Project,
    setting: &Setting,
    args: StartArgs,
    global: &Global,
    host: &Host,
) -> Result<Reply, Failure> {
    require_plan(&project)?;
    let is_empty = project.plan_store().load().is_ok_and(|loaded| loaded.plan.tasks.is_empty());
    let root = project.root().to_owned();
    let progress = project.run_dir().progress();
    let progress = Places::of(host, &root).shown(progress.strip_prefix(&root).unwrap_or(&progress));
    let hint = with_methodology(EMPTY_HINT, &project);
    let plan = project.plan_store();
    let builder = builder(project, setting, host)?.trust(trust::policy(&args.consent(), host));
    if args.dry_run {
        return preview::dry_run(builder);
    }
    let mut run = builder.build()?;
    // What the last run left changed is accepted once: the next start has another digest.
    let next_digest = match &args.trust_hash {
        Some(_) => Some(run.executables()?.accepted_digest()),
        None => None,
    };
    let looks = setting.looks() || run.settings().pilot.enabled;
    if run.settings().agent == "command" && !global.json {
        remark(if looks { LOOKING_HINT } else { COMMAND_HINT });
    }
    if is_empty && !looks && !global.json {
        remark(&hint);
    }
    let show = if global.json { Show::Json } else { Show::lines(host, &root) };
    let ended = block_on(async {
        let signals = Signals::take_over()?;
        let announces = args.yes && !global.json;
        run_to_its_end(run, announces, signals, show, args.profile).await
    })?;
    ended.map_err(|failure| {
        let mut help = failure.help.replace("Read .samuel/run/progress.md", &format!("Read {progress}"));
        if failure.code == ErrorCode::RUN_BLOCKED {
            help.push_str(of_claims(&*plan));
        }
        let failure = go_on_with(failure.advise(help), host, next_digest.as_deref());
        if setting.changes_what_runs() { trusting_flags(failure) } else { failure }
    })
}

/// Replaces the help of a start that is not trusted and whose flags change what runs. `samuel trust` would not help:
/// it only covers what samuel.toml sets.
fn trusting_flags(failure: Failure) -> Failure {
    let digest = failure.data.get("digest").and_then(Value::as_str).map(str::to_owned);
    match digest.filter(|_| failure.help == remedy_text(&Remedy::TrustRun)) {
        None => failure,
        Some(digest) => failure.advise(format!(
            "Review what would run, then start it again with `--trust-hash {digest}`, or with --yes. `samuel trust` \
             covers only what samuel.toml sets, without these flags."
        )),
    }
}

/// Says what to do about tasks that somebody has claimed, where a run is blocked and some are.
fn of_claims(plan: &dyn PlanStore) -> &'static str {
    let Ok(loaded) = plan.load() else { return "" };
    let has =
        |wanted: fn(ClaimPhase) -> bool| loaded.plan.claimed_tasks().any(|(_, claim)| wanted(claim.phase));
    let waits = has(|phase| matches!(phase, ClaimPhase::Submitted | ClaimPhase::Landing));
    match (has(ClaimPhase::is_in_queue), has(|phase| phase == ClaimPhase::Working)) {
        (true, _) if !waits => {
            " `samuel run queue release <id>` lets go of what is held, so that it lands; `samuel run queue drop <id>` gives it \
             back."
        }
        (true, _) => {
            " `samuel run queue` says why work waits that lanes have submitted; `samuel run queue land` lands it, \
             `release` lets go of what is held and `drop` gives it back."
        }
        (false, true) => " What somebody has claimed is given back with `samuel run release`.",
        (false, false) => "",
    }
}

/// Puts the command that was used where its advice names a bare start, which
/// may be one of another agent. Where something has to be accepted, the command
/// asks: its `--yes` would not. A digest that was given is replaced by that of the next start.
fn go_on_with(failure: Failure, host: &Host, next_digest: Option<&str>) -> Failure {
    let (Some(command), Some(asking)) = (host.command_line(next_digest), host.command_line_that_asks())
    else {
        return failure;
    };
    let by_digest = asking.strip_suffix("--accept").unwrap_or("samuel run start ");
    let help = failure.help.replace("`samuel run start --accept`", &format!("`{}`", safe(&asking)));
    let help = help.replace("`samuel run start --trust-hash ", &format!("`{}--trust-hash ", safe(by_digest)));
    let help = help.replace("`samuel run start`", &format!("`{}`", safe(&command)));
    failure.advise(help)
}

/// Runs a run that was built, shows it, and answers with its report. Until it
/// is under way any signal leaves at once.
///
/// With `announces`, what it executes is listed first.
pub(crate) async fn run_to_its_end(
    run: Run,
    announces: bool,
    mut signals: Signals,
    show: Show,
    profiles: bool,
) -> Result<Reply, Failure> {
    // A task of its own, for it blocks while it asks whether to trust.
    let mut starting = tokio::spawn(async move {
        let run = if announces { announced(run).await? } else { run };
        run.start().await
    });
    let started = tokio::select! {
        biased;
        started = &mut starting => started,
        signal = signals.next() => {
            starting.abort();
            show.end_line();
            // It puts away what it has made for itself.
            let _ = tokio::time::timeout(PUTTING_AWAY, starting).await;
            return Err(signal.left("left before the run was under way"));
        }
    };
    let handle = started.map_err(|error| Failure::internal("the start broke").because(&error))??;
    let (sender, told) = mpsc::unbounded_channel();
    let watcher = tokio::spawn(signals::watch(signals, handle.controller(), sender));
    let profile = profiles.then(Profile::new);
    let followed = follow(handle, show, told, profile).await;
    watcher.abort();
    answer(followed?)
}

/// Lists what a run executes that nobody is asked about. That can wait for a lock.
async fn announced(mut run: Run) -> Result<Run, RunError> {
    let listed = tokio::task::spawn_blocking(move || {
        run.check_agent()?;
        let executables = run.executables()?;
        // What --yes does not cover is refused by the start, with this list.
        if executables.changes.is_empty() {
            // The run goes on whether or not this can be shown.
            let _ = terminal::show(Stream::Err, &trust::announced(executables));
        }
        Ok(run)
    });
    listed.await.map_err(|error| RunError::Broken { message: error.to_string() })?
}

/// How a run is shown.
pub(crate) enum Show {
    /// Not at all.
    Nothing,
    /// One JSON document for each event.
    Json,
    /// Lines for people.
    Lines(Box<Watch>),
}

impl Show {
    /// Shows lines of a run of the project at a root.
    pub(crate) fn lines(host: &Host, root: &Path) -> Self {
        Self::Lines(Box::new(Watch::new(host.can_draw, Places::of(host, root))))
    }

    /// Shows an event.
    pub(super) fn event(&mut self, record: &EventRecord) -> Result<(), Failure> {
        match self {
            Self::Nothing => {}
            Self::Lines(watch) => watch.event(record),
            Self::Json => {
                let line = serde_json::to_string(record).map_err(|error| {
                    Failure::internal("an event cannot be written as JSON").because(&error)
                })?;
                // The run goes on whether or not its events can be written.
                let _ = terminal::show(Stream::Out, &(safe_json(&line).into_owned() + "\n"));
            }
        }
        Ok(())
    }

    fn profile(&self, profile: Option<&Profile>) {
        if let (Self::Lines(watch), Some(profile)) = (self, profile) {
            watch.line(profile_table(profile).trim_end());
        }
    }

    /// Prints a line for people.
    pub(super) fn say(&self, line: &str) {
        if let Self::Lines(watch) = self {
            watch.line(line);
        }
    }

    /// Ends a line that a question has left open.
    fn end_line(&self) {
        if let Self::Lines(watch) = self {
            watch.end_line();
        }
    }

    fn order(&self, order: Order) {
        if let Self::Lines(watch) = self {
            watch.order(order);
        }
    }
}

/// How a run ended, and the signal that led to it.
struct Followed {
    report: RunReport,
    signal: Option<Signal>,
    profile: Option<Profile>,
}

/// Shows events until the run has ended or a signal says to leave.
async fn follow(
    mut handle: RunHandle,
    mut show: Show,
    mut told: mpsc::UnboundedReceiver<(Signal, Order)>,
    mut profile: Option<Profile>,
) -> Result<Followed, Failure> {
    let mut events = handle.events();
    let mut signal = None;
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(record) => {
                    if let Some(profile) = &mut profile {
                        profile.take(&record);
                    }
                    show.event(&record)?;
                }
                None => break,
            },
            Some((received, order)) = told.recv() => {
                signal = Some(received);
                show.order(order);
                if order == Order::Leave {
                    return Err(received.left("left before the run had ended"));
                }
            }
        }
    }
    show.profile(profile.as_ref());
    Ok(Followed { report: handle.wait().await?, signal, profile })
}

/// Turns a report into an answer: a run that did not do all its work failed.
fn answer(followed: Followed) -> Result<Reply, Failure> {
    let Followed { report, signal, profile } = followed;
    let profile = profile.map(|profile| profile.rows());
    let data = serde_json::json!({ "report": report, "profile": profile });
    let Some(code) = report.error_code() else {
        return Ok(Reply { data, ..Reply::default() });
    };
    let end = end_text(report.exit_reason, report.detail.as_deref());
    let message = match report.settled {
        true => format!("the run ended as {end}"),
        false => format!("the run ended before the plan was done: {end}"),
    };
    let exit = signal.filter(|_| code == ErrorCode::RUN_CANCELLED).map(Signal::exit_code);
    let mut failure = Failure::new(code, message).with_data(data).exit_with(exit);
    if let Some(help) = report.help() {
        failure = failure.advise(remedy_text(&help));
    }
    if report.exit_reason == ExitReason::EmptyDiscovery {
        failure = failure.advise(
            "Read .samuel/run/progress.md. Then say with --focus what to look at, or add tasks with `samuel run \
             convert` and `samuel run enqueue`, or open those that are blocked with `samuel run answer` and \
             `samuel run reset`, and start again.",
        );
    }
    if report.exit_reason == ExitReason::Blocked && report.settled {
        failure = failure.advise(
            "Mend what the quality checks found, or reset a task with `samuel run reset <id>`. Then start again: \
             the checks are run once more.",
        );
    }
    if report.exit_reason == ExitReason::ControlFilesChanged {
        failure = failure.advise(
            "These files are watched because the run is built from them or executes them. Look at what changed, for \
             instance with `git status`, which names new files too, and `git diff`. Then undo it, or go on: at a \
             terminal `samuel run start --accept` shows it and asks; without one, the refusal names the digest for \
             --trust-hash. Where the agent has to change a file, let no check execute it. Where a check itself makes \
             the file, as `make && ./build/tests` does, name it in a .gitignore that git tracks, or let the check run \
             a script that makes and executes it.",
        );
    }
    Err(match report.fault.and_then(|fault| fault.location) {
        Some(place) => failure.at_place(&place.file, place.line.unwrap_or(0), place.column.unwrap_or(0)),
        None => failure,
    })
}
