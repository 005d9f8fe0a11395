//! What a program may ask of Samuel while it is called: the functions of `wit/v1/host.wit` that no capability of a
//! container stands for, under their names there.
//!
//! Files, hosts and variables are its own in the container; the context and the settings come with each call.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    hook::{Link, LogLevel},
    model::{Complexity, Priority, Task, TaskId},
    plugin::{
        Capabilities, config_value, host_error::HostError, kv::KvStore, log_lines::LogLines, plan::PluginPlan,
    },
    state::{NewTask, PlanStore},
};

/// What a program asks.
#[derive(Debug, Deserialize)]
pub(super) enum Request {
    #[serde(rename = "log.write")]
    LogWrite { level: LogLevel, message: String },
    #[serde(rename = "config.get")]
    ConfigGet { key: String },
    #[serde(rename = "kv.get")]
    KvGet { key: String },
    #[serde(rename = "kv.set")]
    KvSet { key: String, value: String },
    #[serde(rename = "kv.delete")]
    KvDelete { key: String },
    #[serde(rename = "kv.keys")]
    KvKeys {
        #[serde(default)]
        prefix: String,
    },
    #[serde(rename = "tasks.list")]
    TasksList {},
    #[serde(rename = "tasks.enqueue")]
    TasksEnqueue {
        title: String,
        #[serde(default)]
        priority: Priority,
        #[serde(default)]
        complexity: Complexity,
        #[serde(default)]
        description: String,
        #[serde(default)]
        depends_on: Vec<String>,
    },
    #[serde(rename = "tasks.done")]
    TasksDone { id: String, commit_sha: Option<String> },
    #[serde(rename = "tasks.skip")]
    TasksSkip { id: String, reason: String },
    #[serde(rename = "tasks.reset")]
    TasksReset { id: String },
}

/// A task as it is told.
#[derive(Serialize)]
struct ToldTask<'a> {
    id: &'a TaskId,
    title: &'a str,
    status: String,
    priority: Priority,
    complexity: Complexity,
    description: &'a str,
    depends_on: &'a [TaskId],
}

/// Samuel's side of what one plugin asks.
pub(super) struct HostCalls {
    plan: PluginPlan,
    kv: KvStore,
    config: Value,
    current: Mutex<Option<Current>>,
}

/// The call that is under way.
struct Current {
    iteration: u32,
    log: LogLines,
}

impl HostCalls {
    pub(super) fn new(
        store: Option<Arc<dyn PlanStore>>,
        granted: &Capabilities,
        kv: KvStore,
        config: Map<String, Value>,
    ) -> Self {
        let plan = PluginPlan::new(store, granted);
        Self { plan, kv, config: Value::Object(config), current: Mutex::default() }
    }

    /// Answers for a call of a handler from now on, until what is returned is dropped.
    pub(super) fn begin(self: &Arc<Self>, handler: &Arc<str>, iteration: u32, link: &Arc<Link>) -> UnderWay {
        let log = LogLines::new(Arc::clone(handler), Some(Arc::clone(link)));
        let current = Current { iteration, log };
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
        UnderWay(Arc::clone(self))
    }

    /// Answers a request. Blocks for as long as the disk and the lock of the plan do.
    ///
    /// # Errors
    /// Returns a [`HostError`], also between calls: a function may be called only while the plugin is.
    pub(super) fn answer(&self, request: Request) -> Result<Value, HostError> {
        let iteration = {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(current) = current.as_mut() else {
                return Err(HostError::Unsupported("no handler of the plugin is called now".to_owned()));
            };
            if let Request::LogWrite { level, message } = &request {
                current.log.write(*level, message);
                return Ok(Value::Null);
            }
            current.iteration
        };
        match request {
            Request::LogWrite { .. } => Ok(Value::Null),
            Request::ConfigGet { key } => Ok(config_value(&self.config, &key).cloned().unwrap_or_default()),
            Request::KvGet { key } => self.kv.get(&key)?.map_or(Ok(Value::Null), |value| {
                let text = String::from_utf8(value).map(Value::String);
                text.map_err(|_| HostError::invalid("the value is no text"))
            }),
            Request::KvSet { key, value } => self.kv.set(&key, value.as_bytes()).map(|()| Value::Null),
            Request::KvDelete { key } => self.kv.delete(&key).map(Value::Bool),
            Request::KvKeys { prefix } => self.kv.keys(&prefix).map(Value::from),
            Request::TasksList {} => told(&self.plan.list()?.tasks),
            Request::TasksEnqueue { title, priority, complexity, description, depends_on } => {
                let depends_on = depends_on.into_iter().map(TaskId::new).collect();
                let task =
                    NewTask { title, priority, complexity, description, depends_on, ..NewTask::default() };
                self.plan.enqueue(task).map(Value::String)
            }
            Request::TasksDone { id, commit_sha } => {
                self.plan.done(id, commit_sha, iteration).map(|()| Value::Null)
            }
            Request::TasksSkip { id, reason } => self.plan.skip(id, reason).map(|()| Value::Null),
            Request::TasksReset { id } => self.plan.reset(id).map(|()| Value::Null),
        }
    }
}

/// A call of a handler, while which the program is answered.
pub(super) struct UnderWay(Arc<HostCalls>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        *self.0.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn told(tasks: &[Task]) -> Result<Value, HostError> {
    let told = tasks.iter().map(|task| ToldTask {
        id: &task.id,
        title: &task.title,
        status: task.status.to_string(),
        priority: task.priority,
        complexity: task.complexity,
        description: &task.description,
        depends_on: &task.depends_on,
    });
    let told: Vec<_> = told.collect();
    serde_json::to_value(told).map_err(|error| HostError::Other(error.to_string()))
}
