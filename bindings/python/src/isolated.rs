//! Handlers in a process of their own: the hard bound.
//!
//! The function is found by module and name in a fresh interpreter, which gets
//! the call as the JSON envelope on standard input and answers with one on
//! standard output. At the deadline the process goes, with everything below it.

use std::time::Duration;

use pyo3::{
    PyResult, Python,
    types::{PyAnyMethods, PyModule},
};
use samuel_core::{
    hook::{BreakClass, Call, Conversation, HookFailure, Point, Told},
    process::{CommandSpec, End, ExitStatus, Supervisor},
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::handler::Shared;

/// The most an answer may be.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The exit code by which the process says that the handler raised.
const RAISED: i32 = 3;

/// How a function is called in a process of its own.
pub(crate) struct Isolated {
    python: String,
    module: String,
    function: String,
    path: Vec<String>,
    env: Vec<(String, String)>,
    supervisor: Supervisor,
}

impl Isolated {
    /// Prepares to call a function, given by module (or file) and name.
    pub(crate) fn new(py: Python<'_>, target: (String, String), shared: &Shared) -> PyResult<Self> {
        let sys = PyModule::import(py, "sys")?;
        Ok(Self {
            python: sys.getattr("executable")?.extract()?,
            module: target.0,
            function: target.1,
            path: sys.getattr("path")?.extract()?,
            env: shared.env.to_vec(),
            supervisor: shared.supervisor.clone(),
        })
    }

    /// Calls it.
    pub(crate) async fn call<P: Point>(&self, call: &Call<P>) -> Result<P::Output, HookFailure> {
        let envelope = json!({
            "protocol": 1,
            "call": call.header(),
            "input": call.input(),
            "previous": call.previous(),
            "context": call.context(),
            "path": self.path,
            "output": std::any::type_name::<P::Output>().rsplit("::").next(),
            "input_type": std::any::type_name::<P::Input>().rsplit("::").next(),
        });
        let root = call.context().base().project.root.clone();
        let limit = match call.header().deadline_ms {
            0 => Duration::from_secs(24 * 60 * 60),
            limit => Duration::from_millis(limit) + Duration::from_secs(30),
        };
        let spec = CommandSpec::new(&self.python, if root.is_empty() { "/".to_owned() } else { root })
            .args(["-m", "samuel._isolated", &self.module, &self.function])
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env("PYTHONPATH", self.path.join(":"))
            .grace_when_dropped(true)
            .timeout(limit);
        let conversation = Conversation {
            supervisor: &self.supervisor,
            // The deadline is dispatch's: it drops this future, and the process ends behind it.
            cancel: &CancellationToken::new(),
            port: call.port(),
            warn: &|message| call.warn(message),
            question: envelope.to_string().into_bytes(),
            replies: Some(limit),
            max_answer: MAX_BYTES,
        };
        let told = conversation.hold(spec).await;
        let Told { output, answer, problem } =
            told.map_err(|error| HookFailure::new(BreakClass::Spawn, error.to_string()))?;
        if let Some(problem) = problem {
            return Err(HookFailure::new(BreakClass::BadOutput, problem));
        }
        let text = String::from_utf8_lossy(&answer);
        match (&output.end, output.status) {
            (End::Exited, ExitStatus::Exited(0)) => read::<P>(call, &text),
            (End::Exited, ExitStatus::Exited(RAISED)) => Err(raised(&text)),
            (_, ExitStatus::Signaled(signal)) => {
                Err(HookFailure::new(BreakClass::Signaled, format!("ended by signal {signal}")))
            }
            (_, status) => Err(HookFailure {
                details: output.stderr.text().lines().map(str::to_owned).collect(),
                ..HookFailure::new(BreakClass::Failed, format!("the process ended with {status}"))
            }),
        }
    }
}

/// Reads the answer: the output's fields, with what was contributed.
fn read<P: Point>(call: &Call<P>, text: &str) -> Result<P::Output, HookFailure> {
    let bad = |error: serde_json::Error| HookFailure::new(BreakClass::BadOutput, error.to_string());
    let mut envelope: Map<String, Value> = serde_json::from_str(text).map_err(bad)?;
    if let Some(Value::Object(contributed)) = envelope.remove("contribute") {
        for (key, value) in contributed {
            call.contribute(key, value)?;
        }
    }
    match envelope.remove("answer") {
        None | Some(Value::Null) => Ok(P::Output::default()),
        Some(answer) => serde_json::from_value(answer).map_err(bad),
    }
}

fn raised(text: &str) -> HookFailure {
    let Ok(told) = serde_json::from_str::<(String, String, Vec<String>)>(text) else {
        return HookFailure::new(BreakClass::Failed, text.trim());
    };
    let class = match told.0.as_str() {
        "panicked" => BreakClass::Panicked,
        "bad_output" => BreakClass::BadOutput,
        _ => BreakClass::Failed,
    };
    HookFailure { details: told.2, ..HookFailure::new(class, told.1) }
}
