//! `demo`: the main job from start to end, without network or agent.
//!
//! A PRD of three tasks becomes a plan in a repository of its own; the
//! scripted agent works on it, really: it edits files, commits, and calls this
//! very program to record what is done; real checks pass. What is shown at the
//! end was read back from the repository.

mod repository;

use std::{path::PathBuf, sync::Arc, time::Duration};

use samuel_core::{
    agent::{AgentConfig, MutationRoute, Script, ScriptedAgent},
    clock::SystemClock,
    config::{CONFIG_FILE, Config},
    engine::Run,
    lifecycle::make_ready,
    plan::{TaskFilter, TaskList},
    project::{NewPlan, Project},
    sandbox::{HOST, OCI},
    text::counted,
    trust::TrustPolicy,
};
use serde_json::json;

use crate::{
    args::{DemoArgs, Global},
    commands::{Show, block_on_and_wait, run_to_its_end},
    failure::{Failure, io_failure},
    host::Host,
    render::{safe, task_table},
    reply::Reply,
    signals::Signals,
    terminal::{self, Stream},
};
use repository::{BRANCH, Repository};

const PRD: &str = include_str!("demo/prd.md");
const CHECK: &str = include_str!("demo/check.sh");
const SCRIPT: &str = include_str!("demo/script.toml");
/// By what the recording names a commit of its own, for which it asks git.
const NAMES_COMMIT: &str = " commit_sha = \"{{head}}\" ";
/// How long a demonstration that was interrupted may take to leave its directory.
const SETTLE: Duration = Duration::from_secs(5);

/// The command that checks the work.
const CHECK_COMMAND: &str = "sh check.sh";

/// Runs the demonstration.
pub(crate) fn run(args: &DemoArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    // Its end removes the directory, in which nobody must work any more then.
    let mut repository = None;
    block_on_and_wait(demonstrate(args, global, host, &mut repository), SETTLE)?
}

async fn demonstrate(
    args: &DemoArgs,
    global: &Global,
    host: &Host,
    repository: &mut Option<Repository>,
) -> Result<Reply, Failure> {
    if args.sandbox == OCI && args.image.is_none() {
        return Err(Failure::usage("the sandbox oci needs an image")
            .advise("Name one that is there with --image, pinned by its digest."));
    }
    // Before there is a directory, which is removed only if the process ends by itself.
    let signals = Signals::take_over()?;
    let keep = args.keep.as_deref().map(|path| host.absolute(path)).transpose()?;
    let mut config = Config::render_new("greeter", &[CHECK_COMMAND.to_owned()], "ralph");
    if let Some(image) = &args.image {
        config = config.replace("#image = \"\"\n", &format!("image = {}\n", json!(image)));
    }
    let files = [("prd-greeter.md", PRD), ("check.sh", CHECK), (CONFIG_FILE, &config)];
    let repository = &*repository.insert(Repository::create(keep, &files, host).await?);
    let state = state_directory(host)?;
    let project = Project::open(repository.path(), None, Arc::new(SystemClock::new()))?;
    let project = project.keeping_plans_in(Some(state.path().to_owned()));
    let prd = Some(repository.path().join("prd-greeter.md"));
    let plan = NewPlan { prd, ..NewPlan::default() };
    let done = make_ready(&project, plan, |_| {}).await?;
    let tasks = done.converted.map_or(0, |converted| converted.tasks);
    if !global.json {
        // The demonstration goes on whether or not it can be shown.
        let _ = terminal::show(
            Stream::Out,
            &format!(
                "A plan of {} from prd-greeter.md, in {}\n\n",
                counted(tasks, "task"),
                safe(&repository.path().display().to_string())
            ),
        );
    }
    // An agent in a sandbox or in a lane reaches its plan by that alone.
    let is_elsewhere = args.sandbox != HOST || args.jobs.is_some_and(|jobs| jobs > 1);
    let sockets = is_elsewhere.then(|| host.socket_dir_in(state.path()));
    let built = scripted_run(project.clone(), args, sockets, host)?;
    let show = if global.json { Show::Nothing } else { Show::lines(host, repository.path()) };
    let ran = run_to_its_end(built, false, signals, show, false).await;
    let ran = ran.map_err(|failure| failure.advise(see_again(repository)))?;
    shown(repository, &project, ran).await
}

/// Makes a private directory for the plans that are kept, and for the clone in which an agent in a sandbox works or
/// the work trees of lanes. It goes with the demonstration.
fn state_directory(host: &Host) -> Result<tempfile::TempDir, Failure> {
    let parent = host.var("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let made = tempfile::Builder::new().prefix("samuel-demo-").tempdir_in(&parent);
    made.map_err(|error| io_failure("create a directory in", &parent, &error))
}

/// Builds the run: the plan, and an agent that plays the recording.
fn scripted_run(
    project: Project,
    args: &DemoArgs,
    sockets: Option<PathBuf>,
    host: &Host,
) -> Result<Run, Failure> {
    let (sandbox, jobs) = (args.sandbox.as_str(), args.jobs.unwrap_or(1));
    // Images need not have git; what is left uncommitted in a clone, Samuel commits.
    let with_git = |line: &&str| line.contains("git commit");
    let lines = SCRIPT.lines().filter(|line| sandbox != OCI || !with_git(line));
    let lines: Vec<String> = match sandbox {
        OCI => lines.map(|line| line.replace(NAMES_COMMIT, "")).collect(),
        _ => lines.map(str::to_owned).collect(),
    };
    let script = Script::from_toml(&lines.join("\n"));
    let script = script.map_err(|error| Failure::internal("the recording cannot be read").because(&error))?;
    let config = AgentConfig {
        script: Some(script),
        // It asks the run from within a sandbox, where the plan cannot be written.
        mutations: MutationRoute::Command(host.exe()?.to_owned()),
        ..AgentConfig::new("scripted")
    };
    let agent = ScriptedAgent::new(&config, host.supervisor()?).map_err(|error| Failure::of(&error))?;
    let run = Run::builder(project)
        .agent(Arc::new(agent))
        .settings(|settings| {
            settings.agent = "scripted".to_owned();
            settings.sandbox = sandbox.to_owned();
            settings.pause = Duration::ZERO;
            settings.parallel.jobs = jobs;
            // What is known of another branch goes with the state directory.
            if jobs > 1 {
                settings.parallel.into = BRANCH.to_owned();
            }
        })
        .supervisor(host.supervisor()?)
        .containers(host.containers())
        .guest(host.guest()?)
        .env(host.env.iter().cloned())
        .binary(host.command_for_agents()?)
        // It is our own recording, in a directory of our own.
        .trust(TrustPolicy::TrustAll);
    let run = match sockets {
        Some(sockets) => run.socket_dir(sockets),
        None => run,
    };
    Ok(run.build()?)
}

/// Says what to do after a demonstration that did not come to its end.
fn see_again(repository: &Repository) -> String {
    match repository.is_kept() {
        true => format!("What there is stays in {}.", safe(&repository.path().display().to_string())),
        false => "The directory is removed; see it all with `samuel demo`.".to_owned(),
    }
}

/// Reads back what there is now.
async fn shown(repository: &Repository, project: &Project, ran: Reply) -> Result<Reply, Failure> {
    let plan = project.plan_store().load()?.plan;
    let branch = ran.data.pointer("/report/into").and_then(|into| into.as_str()).map(str::to_owned);
    let at = branch.as_deref().unwrap_or("HEAD");
    let (commits, files) = (repository.commits(at).await?, repository.files(at).await?);
    let indented =
        |lines: &[String]| lines.iter().map(|line| format!("  {}\n", safe(line))).collect::<String>();
    let place = match repository.is_kept() {
        true => format!("Everything is in {}\n", safe(&repository.path().display().to_string())),
        false => "The directory is removed now; `samuel demo --keep DIR` keeps it.\n".to_owned(),
    };
    let text = format!(
        "\nTasks\n{}\nCommits{}\n{}\nFiles\n{}\n{place}",
        task_table(&TaskList::of(&plan, &TaskFilter::default())),
        branch.as_ref().map(|branch| format!(" on {}", safe(branch))).unwrap_or_default(),
        indented(&commits),
        indented(&files)
    );
    let data = json!({
        "directory": repository.path(),
        "kept": repository.is_kept(),
        "report": ran.data.get("report"),
        "tasks": plan.tasks,
        "branch": branch,
        "commits": commits,
        "files": files,
    });
    Ok(Reply::new(data, text))
}
