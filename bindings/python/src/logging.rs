//! What Samuel and its plugins log, handed to Python's `logging`.
//!
//! A line of the target `samuel::plugin` goes to the logger `samuel.plugin`, what the library logs itself to
//! those below `samuel`. A thread of its own makes the calls, so that whoever logs never waits for the
//! interpreter; lines that come faster than Python takes them are dropped.

use std::{
    fmt,
    sync::{Once, mpsc},
};

use pyo3::{
    PyResult, Python,
    types::{PyAnyMethods as _, PyModule},
};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    layer::{Context, Layer, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

use crate::gate;

/// How many lines wait for Python at most.
const WAITING: usize = 10_000;

/// A line on its way.
struct Line {
    logger: String,
    /// As `logging` counts them.
    level: u8,
    message: String,
}

/// Has everything from now on handed to `logging`. A subscriber that the program has set stays what it is.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let (sender, lines) = mpsc::sync_channel(WAITING);
        if tracing_subscriber::registry().with(Forwarding(sender)).try_init().is_err() {
            return;
        }
        // Without the thread nobody takes lines, which are dropped then.
        let _ = std::thread::Builder::new()
            .name("samuel-logging".to_owned())
            .spawn(move || gate::keep_state(move || lines.iter().for_each(|line| hand_over(&line))));
    });
}

/// Sends lines to the thread that hands them over.
struct Forwarding(mpsc::SyncSender<Line>);

impl<S: Subscriber> Layer<S> for Forwarding {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with("samuel") && *metadata.level() <= Level::DEBUG
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let level = match *metadata.level() {
            Level::ERROR => 40,
            Level::WARN => 30,
            Level::INFO => 20,
            _ => 10,
        };
        let mut said = Said::default();
        event.record(&mut said);
        let logger = metadata.target().replacen("samuel_core", "samuel", 1).replace("::", ".");
        let message = said.message + &said.fields;
        // One that finds no place is lost, and nobody waits for that.
        let _ = self.0.try_send(Line { logger, level, message });
    }
}

/// What an event says: its message, and its fields behind that.
#[derive(Default)]
struct Said {
    message: String,
    fields: String,
}

impl Said {
    fn field(&mut self, words: fmt::Arguments<'_>) {
        self.fields.push_str(&words.to_string());
    }
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            name => self.field(format_args!(" {name}={value}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.field(format_args!(" {name}={value:?}")),
        }
    }
}

fn hand_over(line: &Line) {
    let call = |py: Python<'_>| -> PyResult<()> {
        let logger = PyModule::import(py, "logging")?.call_method1("getLogger", (&line.logger,))?;
        logger.call_method1("log", (line.level, "%s", &line.message)).map(drop)
    };
    // A handler of the user's that raises is told of by `logging` itself.
    let _ = gate::attach(call);
}
