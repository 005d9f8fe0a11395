//! Lines that plugins write to the log of the run.
//!
//! They go out as `tracing` events of the target `samuel::plugin`, with the handler's id.

use std::sync::Arc;

use serde::Deserialize;

/// The longest message that is kept whole, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;

/// The lines one call may write.
const MAX_LINES: u32 = 1_000;

/// How important a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// The lines of a call.
#[derive(Debug)]
pub(super) struct LogLines {
    handler: Arc<str>,
    count: u32,
}

impl LogLines {
    /// Starts with none of a handler.
    pub(super) fn new(handler: Arc<str>) -> Self {
        Self { handler, count: 0 }
    }

    /// Writes a line, and returns it as it was written where somebody is to be warned of it. Beyond the limit it is
    /// dropped.
    pub(super) fn write<'a>(&mut self, level: Level, message: &'a str) -> Option<&'a str> {
        self.count = self.count.saturating_add(1);
        if self.count > MAX_LINES {
            return None;
        }
        let message = shortened(message);
        write(&self.handler, level, message);
        (level == Level::Warn).then_some(message)
    }
}

/// Tells how many lines were dropped, once the call is over.
impl Drop for LogLines {
    fn drop(&mut self) {
        let dropped = self.count.saturating_sub(MAX_LINES);
        if dropped > 0 {
            write(&self.handler, Level::Warn, &format!("{dropped} further lines were dropped"));
        }
    }
}

fn write(handler: &str, level: Level, message: &str) {
    match level {
        Level::Debug => tracing::debug!(target: "samuel::plugin", handler, "{message}"),
        Level::Info => tracing::info!(target: "samuel::plugin", handler, "{message}"),
        Level::Warn => tracing::warn!(target: "samuel::plugin", handler, "{message}"),
        Level::Error => tracing::error!(target: "samuel::plugin", handler, "{message}"),
    }
}

fn shortened(message: &str) -> &str {
    message.get(..message.floor_char_boundary(MAX_MESSAGE_BYTES)).unwrap_or_default()
}
