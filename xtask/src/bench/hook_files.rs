//! What session hooks cost: a call of one, and a run that reads their file.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use samuel_core::{
    agent::{Agent, AgentError, AgentPort, AgentRequest},
    clock::SystemClock,
    dialect::{HookFileOptions, HookFiles},
    engine::{Run, RunBuilder},
    hook::{Registry, points},
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
    measure::{Action, in_passes, in_turns},
};

/// How often a hook is called.
const CALLS: usize = 101;
/// How many hooks the large file has, each with a script of its own.
const HOOKS: usize = 100;
/// How many files the projects have that runs are built of.
const FILES: usize = 300;
/// How often runs with that file are built.
const BUILDS: usize = 21;
/// How many passes compare two builds that are to take the same time, and how often each builds both.
const PASSES: usize = 15;
const BUILDS_OF_PASS: usize = 21;

/// Measures everything.
pub(super) fn measure() -> Result<Vec<Gate>> {
    let plain = Bed::new()?;
    let hooked = Bed::new()?;
    let scripts = hooked.add_hooks()?;
    Ok(vec![call()?, hooked.build_with_hooks(&plain, &scripts)?, plain.build_without_hooks()?])
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

    /// Adds a file of hooks, and returns the paths of the scripts that they start.
    fn add_hooks(&self) -> Result<Vec<PathBuf>> {
        let mut hooks = "version: 1\nhooks:\n  post_iteration:\n".to_owned();
        let mut scripts = Vec::new();
        for number in 0..HOOKS {
            let script = format!("hooks/check_{number}.sh");
            hooks.push_str(&format!("    - command: sh {script}\n"));
            let text =
                format!("#!/bin/sh\n# Check {number}.\n{}", "test -n \"$SAMUEL_PROJECT_ROOT\"\n".repeat(30));
            scripts.push(write(&self.root(), &script, &text)?);
        }
        write(&self.root(), ".samuel/hooks.yml", &hooks)?;
        Ok(scripts)
    }

    /// Measures a run of a project with many hooks, beside one of a project without any and the
    /// least that is to be done for the hooks' scripts.
    fn build_with_hooks(&self, plain: &Self, scripts: &[PathBuf]) -> Result<Gate> {
        let (hooked, plain) = (self.project()?, plain.project()?);
        let run = builder(&hooked).hook_files().build()?;
        let found = run.registry().handlers(samuel_core::HookPoint::AfterIteration).count();
        ensure!(found >= HOOKS, "{found} of {HOOKS} hooks take part");
        drop(run);
        let [took, built, read] = in_turns(
            BUILDS,
            [&mut || build(builder(&hooked).hook_files()), &mut || build(builder(&plain)), &mut || {
                read_and_hash(scripts)
            }],
        )?;
        Ok(Gate {
            name: "building a run, 100 hooks and scripts",
            took,
            probe: "one without hook files + reading and hashing the scripts".to_owned(),
            probe_took: built + read,
            limit: 1.5,
            notes: vec![format!(
                "without hook files {}, reading and hashing {}",
                milliseconds(built),
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

    fn project(&self) -> Result<Project> {
        let project = Project::open(self.root(), None, Arc::new(SystemClock::new()))?;
        Ok(project.keeping_plans_in(Some(self.directory.path().join("state"))))
    }
}

fn builder(project: &Project) -> RunBuilder {
    let run = Run::builder(project.clone()).agent(Arc::new(NoAgent)).trust(TrustPolicy::TrustAll);
    run.env(fixture::git_env())
}

fn build(run: RunBuilder) -> Result<()> {
    run.build()?;
    Ok(())
}

fn read_and_hash(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        std::hint::black_box(Sha256::digest(fs::read(path)?));
    }
    Ok(())
}

fn write(root: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap_or(root))?;
    fs::write(&path, text)?;
    Ok(path)
}

/// An agent that is never called.
#[derive(Debug)]
struct NoAgent;

#[async_trait]
impl Agent for NoAgent {
    fn name(&self) -> &str {
        "none"
    }

    async fn invoke(&self, _: AgentRequest, _: &dyn AgentPort) -> Result<AgentInvokeOutput, AgentError> {
        Ok(AgentInvokeOutput::default())
    }
}
