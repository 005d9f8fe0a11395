//! Brings a methodology, a store and an agent of its own.
//!
//! `cargo run -p embed-rust --bin own-parts` has a poet work on a plan that is kept in
//! memory. The methodology stands on the built-in one, with another prompt and another
//! check: what is not a haiku yet is taken back. No model, no `samuel` binary.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::{fs, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use samuel_core::{
    Run, TrustPolicy,
    agent::{Agent, AgentError, AgentRequest},
    clock::SystemClock,
    git::Caller,
    hook::{AgentPort, Answer, Call, RegistryBuilder, blocking, points},
    methodology::{Kit, Methodology, built_in},
    model::{
        ExitReason, Plan, Task, TaskId,
        payload::{AgentInvokeOutput, QualityCheckOutput},
    },
    project::Project,
    state::{
        Actor, Applied, Asker, Existing, Imported, JournalPart, LoadedPlan, MemoryStore, Mutation, PlanStore,
        ProgressEntry, ProgressLog, StateError, Watch,
    },
};

/// The file that the poet writes.
const POEM: &str = "poem.txt";

/// The methodology: one poem a task, of three lines.
#[derive(Debug)]
struct Haiku;

impl Methodology for Haiku {
    fn name(&self) -> &str {
        "haiku"
    }

    fn templates(&self) -> Vec<(&str, &str)> {
        vec![("prompt.md.tmpl", "A haiku, please: {{ .State.NextTask.Title }}\n")]
    }

    fn register(&self, kit: Kit, registry: &mut RegistryBuilder) {
        let poem = kit.project_root.join(POEM);
        built_in().register(kit, registry);
        let check = move |_: &Call<points::QualityCheck>| match fs::read_to_string(&poem)?.lines().count() {
            3 => Ok(QualityCheckOutput::pass()),
            lines => Ok(QualityCheckOutput::refuse(format!("{lines} lines are no haiku"))),
        };
        registry.default_handler::<points::QualityCheck, _>(blocking(check));
    }
}

/// The agent: adds a line at each call, and always believes to be done.
#[derive(Debug)]
struct Poet(Arc<dyn PlanStore>);

#[async_trait]
impl Agent for Poet {
    fn name(&self) -> &str {
        "poet"
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        _: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        let failed = |cause| AgentError::Start { agent: "poet".to_owned(), cause };
        let poem = request.project_root.join(POEM);
        let line = request.prompt.lines().find(|line| line.contains("haiku")).unwrap_or_default();
        let text = fs::read_to_string(&poem).unwrap_or_default() + line + "\n";
        fs::write(&poem, text).map_err(|error| failed(Box::new(error)))?;
        let id = TaskId::new(request.task.map(|task| task.id).unwrap_or_default());
        let done = Mutation::Done { id, commit_sha: None, iteration: Some(request.iteration) };
        self.0.mutate(done, Actor::Agent).map_err(|error| failed(Box::new(error)))?;
        Ok(AgentInvokeOutput::default())
    }
}

/// The store: tells of every change, and leaves the rest to another one.
#[derive(Debug)]
struct Told(MemoryStore);

#[rustfmt::skip]
impl PlanStore for Told {
    fn mutate_as(&self, made: Option<jiff::Timestamp>, change: Mutation, by: &Asker) -> Result<Applied, StateError> {
        println!("{:?}: {change:?}", by.actor);
        self.0.mutate_as(made, change, by)
    }
    fn exists(&self) -> Result<bool, StateError> { self.0.exists() }
    fn load(&self) -> Result<LoadedPlan, StateError> { self.0.load() }
    fn import(&self, plan: Plan, by: Actor, there: Existing) -> Result<Imported, StateError> { self.0.import(plan, by, there) }
    fn journal_since(&self, seq: u64) -> Result<JournalPart, StateError> { self.0.journal_since(seq) }
    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError> { self.0.append_progress(entries) }
    fn progress(&self) -> Result<ProgressLog, StateError> { self.0.progress() }
    fn rotate_progress(&self, lines: usize) -> Result<usize, StateError> { self.0.rotate_progress(lines) }
    fn watch(&self) -> Watch { self.0.watch() }
}

#[tokio::main]
async fn main() -> Result<()> {
    let (dir, clock) = (tempfile::tempdir()?, Arc::new(SystemClock::new()));
    let store = Arc::new(Told(MemoryStore::new(clock.clone())));
    let tasks = vec![Task::new(TaskId::new("1"), "the first snow")];
    store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse)?;
    let project = Project::open_with(&[Arc::new(Haiku)], None, Caller::of_process(), dir.path(), clock)?;
    let run = Run::builder(project.with_plan_store(store.clone()));
    let run = run.agent(Arc::new(Poet(store))).trust(TrustPolicy::TrustAll);
    let run = run.settings(|settings| settings.pause = Duration::ZERO).build()?;
    let report = run.start().await?.wait().await?;
    println!("{} after {} iterations", report.exit_reason, report.iterations);
    ensure!(report.exit_reason == ExitReason::Completed, "{report:?}");
    print!("{}", fs::read_to_string(dir.path().join(POEM))?);
    Ok(())
}
