//! One dispatch of a point, outside a run: for tests of handlers.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, PoisonError},
};

use pyo3::{
    Bound, PyAny, PyResult, Python,
    exceptions::PyTypeError,
    pyfunction,
    types::{PyAnyMethods, PyDict, PyTuple},
};
use samuel_core::{
    clock::SystemClock,
    config::Config,
    context::{ContextView, PromptContext},
    hook::{BreakClass, CallScope, HookFailure, HookPoint, Point, PointVisitor, Registry, RegistryError},
    model::payload::Mode,
};
use serde_json::{Map, Value};

use crate::{
    convert::{from_python, to_python},
    error::raise,
    handler::{Registration, Shared, check_points},
    job::{Job, Made},
    notifier::Notifier,
    options::supervisor_of,
    reply::Raised,
};

/// Runs the handlers of one point as samuel.toml chains them.
#[pyfunction]
#[pyo3(signature = (
    point, handlers, config, input, context, cancelled, repeat, session, mode, env, supervisor
))]
#[expect(clippy::too_many_arguments, reason = "the facade gives them names")]
pub(crate) fn dispatch(
    py: Python<'_>,
    point: &str,
    handlers: Vec<Registration>,
    config: &str,
    input: &Bound<'_, PyAny>,
    context: &Bound<'_, PyAny>,
    cancelled: bool,
    repeat: u32,
    session: String,
    mode: &Bound<'_, PyAny>,
    env: Vec<(String, String)>,
    supervisor: Vec<String>,
) -> PyResult<Job> {
    check_points(py, &handlers)?;
    let mode: Mode = from_python(mode).map_err(|error| PyTypeError::new_err(error.to_string()))?;
    let point: HookPoint = point
        .parse()
        .map_err(|error: samuel_core::hook::UnknownPoint| PyTypeError::new_err(error.to_string()))?;
    let context = read_context(context)?;
    let config = Config::parse(Path::new("samuel.toml"), config).map_err(|error| raise(py, &error))?;
    let notifier = Notifier::start(py)?;
    let supervisor = supervisor_of(&supervisor);
    let shared =
        Shared { notifier: Arc::clone(&notifier), raised: Raised::default(), supervisor, env: Arc::new(env) };
    let raised = Arc::clone(&shared.raised);
    let registry = prepare(py, point, &handlers, &config, &shared).inspect_err(|_| notifier.end())?;
    point.visit(Dispatch { registry, input, context, cancelled, repeat, session, mode, notifier, raised })
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

/// What is dispatched, until its point is a type.
struct Dispatch<'a, 'py> {
    registry: Registry,
    input: &'a Bound<'py, PyAny>,
    context: PromptContext,
    cancelled: bool,
    repeat: u32,
    session: String,
    mode: Mode,
    notifier: Arc<Notifier>,
    raised: Raised,
}

impl PointVisitor for Dispatch<'_, '_> {
    type Out = PyResult<Job>;

    fn visit<P: Point>(self) -> PyResult<Job> {
        let Self { registry, repeat, notifier, raised, .. } = self;
        let input = read_input::<P>(self.input).inspect_err(|_| notifier.end())?;
        let scope = CallScope {
            run_id: "run".into(),
            session: self.session.into(),
            iteration: self.context.iteration.number.max(1),
            mode: self.mode,
            context: ContextView::new(Arc::new(self.context)),
            ..CallScope::new(Arc::new(SystemClock::new()))
        };
        if self.cancelled {
            scope.cancel.cancel();
        }
        Job::begin(notifier, scope.cancel.clone(), async move {
            let started = std::time::Instant::now();
            let mut dispatched = registry.dispatch::<P>(input.clone(), &scope).await;
            for _ in 1..repeat {
                // What is told is of one call, and an exception is never passed over.
                if dispatched.outcome.broken.iter().any(|broken| has_raised(&broken.failure)) {
                    break;
                }
                dispatched = registry.dispatch::<P>(input.clone(), &scope).await;
            }
            let took = started.elapsed().as_secs_f64();
            let resolved = registry.resolved(P::POINT).cloned().unwrap_or_default();
            Box::new(move |py: Python<'_>| {
                let told = PyDict::new(py);
                told.set_item("output", to_python(py, &dispatched.output)?)?;
                told.set_item("outcome", to_python(py, &dispatched.outcome)?)?;
                told.set_item("plugins", to_python(py, dispatched.context.plugins())?)?;
                told.set_item("notices", PyTuple::new(py, &resolved.warnings)?)?;
                let skipped =
                    resolved.skipped.iter().map(|skipped| format!("{}: {}", skipped.id, skipped.why));
                told.set_item("skipped", PyTuple::new(py, skipped.collect::<Vec<_>>())?)?;
                told.set_item("seconds", took)?;
                let raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
                told.set_item("exceptions", PyTuple::new(py, raised.iter().map(|error| error.bind(py)))?)?;
                Ok(told.into_any().unbind())
            }) as Made
        })
    }
}

/// Says whether a handler broke by an exception.
fn has_raised(failure: &HookFailure) -> bool {
    matches!(failure.class, BreakClass::Failed | BreakClass::Panicked)
}

/// Reads what is given of the prompt context, by group; the rest has its defaults.
fn read_context(given: &Bound<'_, PyAny>) -> PyResult<PromptContext> {
    let refused = |error: &dyn std::fmt::Display| PyTypeError::new_err(format!("the context: {error}"));
    let given: Map<String, Value> = from_python(given).map_err(|error| refused(&error))?;
    let mut whole = serde_json::to_value(PromptContext::default()).map_err(|error| refused(&error))?;
    for (group, fields) in given {
        match (whole.get_mut(&group), fields) {
            (Some(Value::Object(whole)), Value::Object(fields)) => whole.extend(fields),
            _ => return Err(refused(&format_args!("there is no group {group:?}"))),
        }
    }
    serde_json::from_value(whole).map_err(|error| refused(&error))
}

/// Reads an input; what a dict leaves out has its default.
fn read_input<P: Point>(input: &Bound<'_, PyAny>) -> PyResult<P::Input> {
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
