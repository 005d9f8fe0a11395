//! The native half of the Python package `samuel`.
//!
//! Python code imports the facade, `samuel`, never this module: the facade
//! has the types, the waiting and everything that is pleasant only in Python.
//! Here is what needs Rust: runs (`run`), sessions without a loop (`session`), handlers (`handler`) with what
//! they are called with (`call`, `context`), projects (`project`), their plugins
//! (`plugins`), TOON (`toon`), and the conversion of records (`convert`).
//!
//! Two rules hold everywhere. No thread of Rust enters the interpreter but
//! through the `gate`, which is closed before the interpreter ends. And no
//! thread of Python waits in Rust: it waits in Python, for the `notifier`.

mod arguments;
mod call;
mod context;
mod convert;
mod dispatch;
mod engine;
mod error;
mod fetched;
mod gate;
mod handler;
mod isolated;
mod job;
mod logging;
mod methodology;
mod notifier;
mod options;
mod plugins;
mod port;
mod project;
mod remedy;
mod reply;
mod run;
mod run_log;
mod session;
mod toon;
mod trust;
mod watching;

/// The module `samuel._samuel`.
#[pyo3::pymodule]
mod _samuel {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        call::PyCall,
        context::PyPromptContext,
        dispatch::dispatch,
        fetched::PyFetchedPlugin,
        gate::{close, forked, inside},
        job::Job,
        options::check_settings,
        plugins::{PyLoaded, plugins_fetch, plugins_list, plugins_load, plugins_uninstall, plugins_verify},
        port::{PyAgentPort, report_json},
        project::PyProject,
        reply::Reply,
        run::{EventStream, PyRun, PyRunHandle},
        run_log::{RunLog, RunTail},
        session::PySession,
        toon::{toon_dumps, toon_loads, toon_recover},
        trust::PyTrustStore,
        watching::Watching,
    };
    use samuel_core::{hook::HookPoint, process::supervisor_main};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("BUILD_PROFILE", env!("SAMUEL_BUILD_PROFILE"))?;
        let points: Vec<&str> = HookPoint::ALL.iter().map(|point| point.as_str()).collect();
        module.add("HOOK_POINTS", pyo3::types::PyTuple::new(module.py(), points)?)
    }

    /// Supervises one command, as the whole program; returns its exit code.
    #[pyfunction]
    fn supervise() -> u8 {
        u8::from(supervisor_main() != std::process::ExitCode::SUCCESS)
    }
}
