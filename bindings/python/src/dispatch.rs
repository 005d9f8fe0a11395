//! One dispatch of a point, outside a run: for tests of handlers.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{
    Bound, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyOSError, PyTypeError},
    pyclass, pyfunction, pymethods,
    types::{PyAnyMethods, PyDict},
};
use samuel_core::{
    clock::SystemClock,
    config::Config,
    context::{ContextView, PromptContext},
    hook::{HookPoint, Point, Registry, RegistryError, Scope},
    model::payload::{Mode, Turn},
    process::Supervisor,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    bell::Bell,
    convert::{from_python, to_python},
    error::raise,
    gate,
    handler::{Registration, Shared, check_points},
    points::at_point,
    reply::Raised,
};

/// What came of it, made when Python asks.
type Made = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// A dispatch under way.
#[pyclass(frozen, module = "samuel._samuel")]
pub(crate) struct Dispatch {
    bell: Arc<Bell>,
    made: Arc<Mutex<Option<Made>>>,
}

#[pymethods]
impl Dispatch {
    /// The number of rings so far.
    #[getter]
    fn version(&self) -> u64 {
        self.bell.version()
    }

    /// Leaves a callback for the next ring; False if there was one since.
    fn wake(&self, callback: Py<PyAny>, seen: u64) -> bool {
        self.bell.wait(callback, seen)
    }

    /// What came of it, once; None before the end.
    fn result(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).take();
        made.map(|make| make(py)).transpose()
    }
}

/// Runs the handlers of one point as samuel.toml chains them.
#[pyfunction]
#[pyo3(signature = (point, handlers, config, input, cancelled, repeat, session, mode, env, supervisor))]
#[expect(clippy::too_many_arguments, reason = "the facade gives them names")]
pub(crate) fn dispatch(
    py: Python<'_>,
    point: &str,
    handlers: Vec<Registration>,
    config: &str,
    input: &Bound<'_, PyAny>,
    cancelled: bool,
    repeat: u32,
    session: String,
    mode: &Bound<'_, PyAny>,
    env: Vec<(String, String)>,
    supervisor: Vec<String>,
) -> PyResult<Dispatch> {
    check_points(py, &handlers)?;
    let mode: Mode = from_python(mode).map_err(|error| PyTypeError::new_err(error.to_string()))?;
    let point: HookPoint = point
        .parse()
        .map_err(|error: samuel_core::hook::UnknownPoint| PyTypeError::new_err(error.to_string()))?;
    let config = Config::parse(Path::new("samuel.toml"), config).map_err(|error| raise(py, &error))?;
    let bell = Bell::hang().map_err(PyOSError::new_err)?;
    let supervisor = match supervisor.split_first() {
        Some((program, args)) => {
            Supervisor::SelfExec { program: program.into(), args: args.iter().map(Into::into).collect() }
        }
        None => Supervisor::GroupOnly,
    };
    let shared =
        Shared { bell: Arc::clone(&bell), raised: Raised::default(), supervisor, env: Arc::new(env) };
    let prepared = prepare(py, point, &handlers, &config, &shared).inspect_err(|_| bell.end())?;
    let made: Arc<Mutex<Option<Made>>> = Arc::default();
    let started =
        at_point!(point, P => begin::<P>(prepared, input, (cancelled, repeat, session, mode), &bell, &made));
    started.inspect_err(|_| bell.end())?;
    Ok(Dispatch { bell, made })
}

fn prepare(
    py: Python<'_>,
    point: HookPoint,
    handlers: &[Registration],
    config: &Config,
    shared: &Shared,
) -> PyResult<Registry> {
    let mut builder = Registry::builder();
    handlers.iter().try_for_each(|handler| handler.register(py, shared, &mut builder))?;
    let specs = BTreeMap::from([(point, config.chain(point, "ralph"))]);
    builder.build(&specs).map_err(|error| {
        let located = match &error {
            RegistryError::Resolve(resolve) => config.locate("ralph", resolve),
            _ => None,
        };
        match located {
            Some(located) => raise(py, &located),
            None => raise(py, &error),
        }
    })
}

fn begin<P: Point>(
    registry: Registry,
    input: &Bound<'_, PyAny>,
    (cancelled, repeat, session, mode): (bool, u32, String, Mode),
    bell: &Arc<Bell>,
    made: &Arc<Mutex<Option<Made>>>,
) -> PyResult<()>
where
    P::Input: Default,
{
    let input = read_input::<P>(input)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (bell, made) = (Arc::clone(bell), Arc::clone(made));
    let life = move || {
        let scope = Scope {
            run_id: "run".into(),
            session: session.as_str().into(),
            iteration: 1,
            mode,
            turn: Turn::Main,
            context: ContextView::new(Arc::new(PromptContext::default())),
            cancel: CancellationToken::new(),
            clock: Arc::new(SystemClock::new()),
        };
        if cancelled {
            scope.cancel.cancel();
        }
        let started = std::time::Instant::now();
        let dispatched = runtime.block_on(async {
            for _ in 1..repeat {
                registry.dispatch::<P>(input.clone(), &scope).await;
            }
            registry.dispatch::<P>(input.clone(), &scope).await
        });
        let took = started.elapsed().as_secs_f64();
        runtime.shutdown_background();
        let resolved = registry.resolved(P::POINT).cloned().unwrap_or_default();
        let make: Made = Box::new(move |py| {
            let told = PyDict::new(py);
            told.set_item("output", to_python(py, &dispatched.output)?)?;
            told.set_item("outcome", to_python(py, &dispatched.outcome)?)?;
            told.set_item("plugins", to_python(py, dispatched.context.plugins())?)?;
            told.set_item("notices", &resolved.warnings)?;
            let skipped = resolved.skipped.iter().map(|skipped| format!("{}: {}", skipped.id, skipped.why));
            told.set_item("skipped", skipped.collect::<Vec<_>>())?;
            told.set_item("seconds", took)?;
            Ok(told.into_any().unbind())
        });
        *made.lock().unwrap_or_else(PoisonError::into_inner) = Some(make);
        bell.end();
    };
    std::thread::Builder::new()
        .name("samuel-dispatch".to_owned())
        .spawn(move || gate::keep_state(life))
        .map(drop)
        .map_err(PyErr::from)
}

/// Reads an input; what a dict leaves out has its default.
fn read_input<P: Point>(input: &Bound<'_, PyAny>) -> PyResult<P::Input>
where
    P::Input: Default,
{
    let refused = |error: &dyn std::fmt::Display| PyTypeError::new_err(error.to_string());
    if !input.is_instance_of::<PyDict>() {
        return from_python(input).map_err(|error| refused(&error));
    }
    let mut whole = serde_json::to_value(P::Input::default()).map_err(|error| refused(&error))?;
    let given: Value = from_python(input).map_err(|error| refused(&error))?;
    if let (Value::Object(whole), Value::Object(given)) = (&mut whole, given) {
        whole.extend(given);
    }
    serde_json::from_value(whole).map_err(|error| refused(&error))
}
