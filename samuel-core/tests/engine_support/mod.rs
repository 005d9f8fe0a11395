//! Projects and runs for the engine's tests.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "a failed set-up fails the test; not every test uses all of it"
)]

use std::{path::Path, sync::Arc, time::Duration};

use samuel_core::{
    agent::{Agent, AgentConfig, MutationRoute, Script, ScriptedAgent, ScriptedCall, StoreSink},
    clock::SystemClock,
    engine::{EventRecord, Run, RunBuilder, RunReport, TrustPolicy},
    model::{Plan, Status, Task, TaskId},
    process::Supervisor,
    project::Project,
    state::{Actor, Existing, StateStore},
};

pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) project: Project,
    pub(crate) store: Arc<dyn StateStore>,
}

impl Bench {
    pub(crate) fn with(tasks: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::open(dir.path(), None, Arc::new(SystemClock::new())).unwrap();
        let store: Arc<dyn StateStore> = Arc::new(project.store());
        let tasks = tasks.iter().map(|(id, title)| Task::new(TaskId::new(*id), *title)).collect();
        store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
        Self { dir, project, store }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn agent(&self, script: Script) -> Arc<dyn Agent> {
        let config = AgentConfig {
            script: Some(script),
            mutations: MutationRoute::Sink(Arc::new(StoreSink(Arc::clone(&self.store)))),
            ..AgentConfig::new("scripted")
        };
        Arc::new(ScriptedAgent::new(&config, Supervisor::GroupOnly).unwrap())
    }

    pub(crate) fn run(&self, script: Script) -> RunBuilder {
        Run::builder(self.project.clone())
            .agent(self.agent(script))
            .trust(TrustPolicy::TrustAll)
            .env([("PATH".to_owned(), std::env::var("PATH").unwrap())])
            .settings(|settings| settings.pause = Duration::ZERO)
    }

    pub(crate) fn status(&self, id: &str) -> Status {
        self.store.load().unwrap().plan.task(&TaskId::new(id)).unwrap().status
    }
}

pub(crate) async fn events_of(builder: RunBuilder) -> (Vec<EventRecord>, RunReport) {
    let mut handle = builder.build().unwrap().start().await.unwrap();
    let mut stream = handle.events();
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    (events, handle.wait().await.unwrap())
}

pub(crate) fn works() -> Script {
    Script::default()
        .call(ScriptedCall::any().repeated().say("working").write("made.txt", "{{task_id}}").done())
}
