//! Handlers in a process of their own: the hard bound.
//!
//! The process is a fresh interpreter (`samuel._begin`, `samuel._isolated`) that finds the function once
//! and is asked call by call: each is the JSON envelope as a line of its standard input, and answered by a line. It is kept
//! from one call to the next. At the deadline it goes, with everything below it, and the next call gets
//! another one. What the function prints and logs on the way is passed on to this process.

use std::{
    ffi::OsStr,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use pyo3::{
    PyResult, Python,
    types::{PyAnyMethods, PyModule},
};
use samuel_core::{
    hook::{BreakClass, Call, HookFailure, KeptLine, KeptProgram, Point},
    process::{CommandSpec, ExitStatus, Supervisor},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{gate, handler::Shared};

/// The most an answer may be.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// How long a call may take to be read, which the deadline of most ends before.
const READ_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Where a process of its own finds a function: what it is told first, as JSON, and the directory it
/// works in.
pub(crate) type Target = (String, String);

/// How a function is called in a process of its own.
pub(crate) struct Isolated {
    python: String,
    /// What it runs: `_begin.py`.
    script: PathBuf,
    target: Target,
    env: Vec<(String, String)>,
    supervisor: Supervisor,
    /// The process, while no call is under way.
    idle: Mutex<Option<KeptProgram>>,
}

/// A line of the process that is no report.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// What the function printed or logged.
    Passed(Value),
    /// What it answered, and contributed.
    Answered { answer: Option<Value>, contribute: Map<String, Value> },
    /// How it broke: its class, a message, and the traceback.
    Broke(String, String, Vec<String>),
}

impl Isolated {
    /// Prepares to call a function.
    pub(crate) fn new(py: Python<'_>, target: Target, shared: &Shared) -> PyResult<Self> {
        let package: PathBuf = PyModule::import(py, "samuel")?.getattr("__file__")?.extract()?;
        Ok(Self {
            python: PyModule::import(py, "sys")?.getattr("executable")?.extract()?,
            script: package.with_file_name("_begin.py"),
            target,
            env: shared.env.to_vec(),
            supervisor: shared.supervisor.clone(),
            idle: Mutex::default(),
        })
    }

    /// Calls it.
    pub(crate) async fn call<P: Point>(&self, call: &Call<P>) -> Result<P::Output, HookFailure> {
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut process = match kept {
            Some(process) => process,
            None => {
                self.start().await.map_err(|error| HookFailure::new(BreakClass::Spawn, error.to_string()))?
            }
        };
        process.ask(envelope(call).into_bytes(), call.port()).await;
        loop {
            match process.next(call.port(), &|message| call.warn(message)).await {
                KeptLine::Line(line) => match serde_json::from_str(&line) {
                    Ok(Line::Passed(told)) => pass_on(&told),
                    Ok(Line::Answered { answer, contribute }) => {
                        self.keep(process);
                        return read::<P>(call, answer, contribute);
                    }
                    Ok(Line::Broke(class, message, details)) => {
                        let class = class_of(&class);
                        if class != BreakClass::Panicked {
                            self.keep(process);
                        }
                        return Err(HookFailure { details, ..HookFailure::new(class, message) });
                    }
                    Err(error) => return Err(HookFailure::new(BreakClass::BadOutput, error.to_string())),
                },
                KeptLine::Wrong(problem) => return Err(HookFailure::new(BreakClass::BadOutput, problem)),
                KeptLine::End => return Err(ended(process).await),
            }
        }
    }

    async fn start(&self) -> Result<KeptProgram, samuel_core::process::ProcessError> {
        let (function, directory) = &self.target;
        // Whoever writes files where it works does not decide what it imports.
        let spec = CommandSpec::new(&self.python, directory)
            .args([OsStr::new("-P"), self.script.as_os_str()])
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .grace_when_dropped(true);
        let mut process = KeptProgram::start(spec, &self.supervisor, READ_LIMIT, MAX_BYTES).await?;
        process.ask(function.clone().into_bytes(), None).await;
        Ok(process)
    }

    /// Keeps a process for the next call; of several that were at work, one.
    fn keep(&self, process: KeptProgram) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).replace(process);
    }
}

fn envelope<P: Point>(call: &Call<P>) -> String {
    json!({
        "protocol": 1,
        "call": call.header(),
        "input": call.input(),
        "previous": call.previous(),
        "context": call.context(),
        "output": std::any::type_name::<P::Output>().rsplit("::").next(),
        "input_type": std::any::type_name::<P::Input>().rsplit("::").next(),
    })
    .to_string()
}

/// Prints and logs in this process what the other one did.
fn pass_on(told: &Value) {
    let text = told.to_string();
    // An output that is closed, or an interpreter that ends, takes nothing any more.
    let _ =
        gate::attach(|py| PyModule::import(py, "samuel._passed")?.call_method1("pass_on", (text,)).map(drop));
}

/// Reads the answer: the output's fields, with what was contributed.
fn read<P: Point>(
    call: &Call<P>,
    answer: Option<Value>,
    contributed: Map<String, Value>,
) -> Result<P::Output, HookFailure> {
    for (key, value) in contributed {
        call.contribute(key, value)?;
    }
    let Some(answer) = answer else { return Ok(P::Output::default()) };
    serde_json::from_value(answer).map_err(|error| HookFailure::new(BreakClass::BadOutput, error.to_string()))
}

fn class_of(class: &str) -> BreakClass {
    match class {
        "panicked" => BreakClass::Panicked,
        "bad_output" => BreakClass::BadOutput,
        _ => BreakClass::Failed,
    }
}

/// Says how a process ended in the middle of a call.
async fn ended(process: KeptProgram) -> HookFailure {
    let output = match process.end().await {
        Ok(output) => output,
        Err(error) => return HookFailure::new(BreakClass::Spawn, error.to_string()),
    };
    match output.status {
        ExitStatus::Signaled(signal) => {
            HookFailure::new(BreakClass::Signaled, format!("ended by signal {signal}"))
        }
        status => HookFailure {
            details: output.stderr.text().lines().map(str::to_owned).collect(),
            ..HookFailure::new(BreakClass::Failed, format!("the process ended with {status}"))
        },
    }
}
