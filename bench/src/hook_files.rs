//! What session hooks cost: a call of one, and a run that reads their file.

use std::{
    collections::BTreeMap,
    fs,
    hint::black_box,
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use samuel_core::{
    HookPoint,
    agent::{Agent, AgentError, AgentPort, AgentRequest},
    clock::SystemClock,
    dialect::{HookFileOptions, HookFiles},
    engine::{Run, RunBuilder},
    hook::{Registry, Tier, points},
    model::payload::{AfterIterationInput, AgentInvokeOutput},
    process::Supervisor,
    project::Project,
    trust::TrustPolicy,
};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;

use super::{
    built, fixture,
    gate::{Gate, milliseconds},
    measure::{Action, in_passes, in_turns, median, spawn},
};

/// How often a hook is called.
const CALLS: usize = 101;
/// How many hooks the large file has, each with a script of its own.
const HOOKS: usize = 100;
/// How many files of repository hooks are loaded.
const REPOSITORY_HOOKS: usize = 200;
/// How many files the projects have that runs are built of.
const FILES: usize = 300;
/// How often runs with that file are started.
const STARTS: usize = 31;
/// How many passes compare two builds that are to take the same time, and how often each builds both.
const PASSES: usize = 15;
const BUILDS_OF_PASS: usize = 21;

/// Measures everything.
pub(super) fn measure() -> Result<Vec<Gate>> {
    let (plain, hooked) = (Bed::new()?, Bed::new()?);
    let scripts = hooked.add_scripts()?;
    plain.add_scripts()?;
    hooked.add_hooks()?;
    Ok(vec![call()?, plain.build_without_hooks()?, hooked.start_with_hooks(&plain, &scripts)?, load()?])
}

/// Measures loading many files of repository hooks, beside reading them and parsing their YAML into
/// values that know no places.
///
/// Reading alone is no measure of it: the events of the YAML parser take twice as long as reading a file of a
/// few hundred bytes that the system has in memory, before anything is made of them. The gate holds
/// what is done on top: places of all values, checks, and a look at each script.
fn load() -> Result<Gate> {
    let project = tempfile::tempdir_in(crate::workspace::target())?;
    let root = project.path();
    let mut files = Vec::new();
    for number in 0..REPOSITORY_HOOKS {
        let command = format!("scripts/hooks/check_{number}.sh");
        let hook = format!(
            "id: check_{number}\nevent_type: PostAbilityCall\nenabled: true\n\nsummary: >\n  Says what it saw of a \
             call, so that whoever reads the log knows.\n\nblocking: false\n\nmatch:\n  ability_scope: [\"edit_*\", \
             \"!edit_docs\"]\n  min_duration_ms: 100\n\nhandler:\n  kind: script\n  command: sh {command}\n\neffects:\n  - \
             append_to: .system/logs/hooks.log\n"
        );
        files.push(write(root, &format!(".system/hooks/check_{number}.yaml"), &hook)?);
        write(root, &command, "#!/bin/sh\ncat\n")?;
    }
    let [took, probe_took, read] = in_turns(
        CALLS,
        [
            &mut || {
                let loaded = HookFiles::read(root)?;
                let found = loaded.repository_hooks().count();
                ensure!(found == REPOSITORY_HOOKS, "{found} of {REPOSITORY_HOOKS} hooks were loaded");
                ensure!(loaded.problems().is_empty(), "{:?}", loaded.problems());
                Ok(())
            },
            &mut || {
                for file in &files {
                    let parsed: serde_json::Value = serde_saphyr::from_str(&fs::read_to_string(file)?)?;
                    black_box(parsed);
                }
                Ok(())
            },
            &mut || {
                for file in &files {
                    black_box(fs::read_to_string(file)?);
                }
                Ok(())
            },
        ],
    )?;
    let of_reading = took.as_secs_f64() / read.as_secs_f64().max(f64::MIN_POSITIVE);
    Ok(Gate {
        name: "loading 200 repository hooks",
        took,
        probe: "reading their files and parsing their YAML".to_owned(),
        probe_took,
        limit: 2.0,
        notes: vec![format!("reading the files alone: {}, {of_reading:.2}x", milliseconds(read))],
    })
}

/// Measures a hook from dispatch to its answer, beside the shell that it starts.
fn call() -> Result<Gate> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let project = tempfile::tempdir_in(crate::workspace::target())?;
    write(
        project.path(),
        ".samuel/hooks.yml",
        "version: 1\nhooks:\n  post_iteration:\n    - command: 'true'\n",
    )?;
    let bare = registry(project.path(), Supervisor::GroupOnly)?;
    let supervised = registry(project.path(), Supervisor::Helper(built("samuel")?))?;
    let [took, supervised, probe_took] = in_turns(
        CALLS,
        [&mut || fire(&runtime, &bare), &mut || fire(&runtime, &supervised), &mut || {
            let mut shell = Command::new("sh");
            let output = shell.args(["-c", "true"]).env_clear().envs(fixture::git_env());
            let output = output.stdin(Stdio::null()).output()?;
            ensure!(output.status.success(), "`true` ended with {}", output.status);
            Ok(())
        }],
    )?;
    Ok(Gate {
        name: "a session hook, `true`",
        took,
        probe: "sh -c true".to_owned(),
        probe_took,
        limit: 4.0,
        notes: vec![format!("below the supervisor of the program: {}", milliseconds(supervised))],
    })
}

/// Registers the hooks of a project.
fn registry(root: &Path, supervisor: Supervisor) -> Result<Registry> {
    let mut handlers = Registry::builder();
    let options = HookFileOptions { env: fixture::git_env(), supervisor, ..HookFileOptions::default() };
    HookFiles::read(root)?.register(&mut handlers, options);
    Ok(handlers.build(&BTreeMap::new())?)
}

fn fire(runtime: &Runtime, registry: &Registry) -> Result<()> {
    let scope = super::scope();
    let fired = registry.dispatch::<points::AfterIteration>(AfterIterationInput::default(), &scope);
    let outcome = runtime.block_on(fired).outcome;
    ensure!(outcome.warnings.is_empty(), "the hook warns: {:?}", outcome.warnings);
    Ok(())
}

/// A repository as a project, and a private directory beside it.
struct Bed {
    directory: tempfile::TempDir,
}

impl Bed {
    fn new() -> Result<Self> {
        let directory = tempfile::tempdir_in(crate::workspace::target())?;
        fixture::repository(&directory.path().join("project"), FILES)?;
        Ok(Self { directory })
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// Adds scripts and commits them.
    fn add_scripts(&self) -> Result<Vec<PathBuf>> {
        let add = |number| {
            let text =
                format!("#!/bin/sh\n# Check {number}.\n{}", "test -n \"$SAMUEL_PROJECT_ROOT\"\n".repeat(30));
            write(&self.root(), &script(number), &text)
        };
        let scripts = (0..HOOKS).map(add).collect::<Result<_>>()?;
        spawn(fixture::git(&self.root()).args(["add", "--all"]))?;
        spawn(fixture::git(&self.root()).args(["commit", "--quiet", "--message", "Add scripts"]))?;
        Ok(scripts)
    }

    /// Adds a file of hooks that start the scripts, none of them at a start.
    fn add_hooks(&self) -> Result<()> {
        let hooks = (0..HOOKS).map(|number| format!("    - command: sh {}\n", script(number)));
        let file = format!("version: 1\nhooks:\n  on_task_complete:\n{}", hooks.collect::<String>());
        write(&self.root(), ".samuel/hooks.yml", &file)?;
        Ok(())
    }

    /// Measures a start of a project with many hooks, until its agent is called, beside one of the same
    /// project without any and the least that is to be done for the hooks' scripts.
    fn start_with_hooks(&self, plain: &Self, scripts: &[PathBuf]) -> Result<Gate> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (hooked, plain) = (self.planned()?, plain.planned()?);
        let (mut starts, mut plain_starts) = (Vec::new(), Vec::new());
        let (mut builds, mut plain_builds, mut reads) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=STARTS {
            let (of_hooked, of_plain) =
                (runtime.block_on(start(&hooked, HOOKS))?, runtime.block_on(start(&plain, 0))?);
            let began = Instant::now();
            read_and_hash(scripts)?;
            let read = began.elapsed();
            // The first round fills caches.
            if round > 0 {
                starts.push(of_hooked.called);
                builds.push(of_hooked.built);
                plain_starts.push(of_plain.called);
                plain_builds.push(of_plain.built);
                reads.push(read);
            }
        }
        let (read, plain_start) = (median(reads), median(plain_starts));
        Ok(Gate {
            name: "a start, 100 hooks and scripts",
            took: median(starts),
            probe: "one without hook files + reading and hashing the scripts".to_owned(),
            probe_took: plain_start + read,
            limit: 1.5,
            notes: vec![format!(
                "of it building the run {}, without hook files {}; reading and hashing {}",
                milliseconds(median(builds)),
                milliseconds(median(plain_builds)),
                milliseconds(read)
            )],
        })
    }

    /// Measures what a project without hook files pays for being asked.
    fn build_without_hooks(&self) -> Result<Gate> {
        let project = self.project()?;
        let mut asked = || build(builder(&project).hook_files());
        let mut unasked = || build(builder(&project));
        let actions: [Action<'_>; 2] = [&mut asked, &mut unasked];
        let mut passes = in_passes(PASSES, BUILDS_OF_PASS, actions)?;
        let ratio = |[asked, unasked]: &[Duration; 2]| asked.as_secs_f64() / unasked.as_secs_f64();
        passes.sort_by(|left, right| ratio(left).total_cmp(&ratio(right)));
        let [took, probe_took] = *passes.get(passes.len() / 2).context("there was no pass")?;
        Ok(Gate {
            name: "building a run, no hook file",
            took,
            probe: "one that looks for none".to_owned(),
            probe_took,
            limit: 1.05,
            notes: Vec::new(),
        })
    }

    /// Returns the project with one task, which is never done.
    fn planned(&self) -> Result<Project> {
        let (project, _) = fixture::planned(&self.root(), 1)?;
        Ok(project.keeping_plans_in(Some(self.directory.path().join("state"))))
    }

    fn project(&self) -> Result<Project> {
        let project = Project::open(self.root(), None, Arc::new(SystemClock::new()))?;
        Ok(project.keeping_plans_in(Some(self.directory.path().join("state"))))
    }
}

fn builder(project: &Project) -> RunBuilder {
    let run = Run::builder(project.clone()).agent(Arc::new(NoAgent::default())).trust(TrustPolicy::TrustAll);
    run.env(fixture::git_env())
}

fn build(run: RunBuilder) -> Result<()> {
    run.build()?;
    Ok(())
}

fn read_and_hash(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        black_box(Sha256::digest(fs::read(path)?));
    }
    Ok(())
}

/// Returns the path of a script.
fn script(number: usize) -> String {
    format!("hooks/check_{number}.sh")
}

fn write(root: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap_or(root))?;
    fs::write(&path, text)?;
    Ok(path)
}

/// How long a start took.
struct Started {
    /// Until the run was built.
    built: Duration,
    /// Until its agent was called.
    called: Duration,
}

/// Starts a run and ends it once its agent is called.
async fn start(project: &Project, hooks: usize) -> Result<Started> {
    let called = Arc::new(OnceLock::new());
    let agent = Arc::new(NoAgent { called: Arc::clone(&called) });
    let began = Instant::now();
    let run = Run::builder(project.clone()).agent(agent).trust(TrustPolicy::TrustAll);
    let run = run.env(fixture::git_env()).hook_files().settings(|settings| {
        settings.pause = Duration::ZERO;
        settings.max_iterations = NonZero::new(1);
    });
    let run = run.build()?;
    let built = began.elapsed();
    let found = run.registry().handlers(HookPoint::TaskCompleted).filter(|(.., tier)| *tier == Tier::Shell);
    ensure!(found.count() == hooks, "some of {hooks} hooks take no part");
    run.start().await?.wait().await?;
    let called = called.get().context("the agent was not called")?;
    Ok(Started { built, called: called.duration_since(began) })
}

/// An agent that does nothing but note when it is called.
#[derive(Debug, Default)]
struct NoAgent {
    called: Arc<OnceLock<Instant>>,
}

#[async_trait]
impl Agent for NoAgent {
    fn name(&self) -> &str {
        "none"
    }

    async fn invoke(&self, _: AgentRequest, _: &dyn AgentPort) -> Result<AgentInvokeOutput, AgentError> {
        self.called.get_or_init(Instant::now);
        Ok(AgentInvokeOutput::default())
    }
}
