//! Lines that plugins write to the log of the run.
//!
//! They go out as `tracing` events of the target `samuel::plugin`, with the handler's id, and stay with the outcome of
//! the point, which events and the record of the run have.

use std::sync::Arc;

use crate::hook::{Link, LogLevel};

/// The longest message that is kept whole, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;

/// The lines one call may write.
const MAX_LINES: u32 = 1_000;

/// The lines of a call.
pub(super) struct LogLines {
    handler: Arc<str>,
    /// What they stay with; nothing where an instance is only tried.
    link: Option<Arc<Link>>,
    count: u32,
}

impl LogLines {
    /// Starts with none of a handler.
    pub(super) fn new(handler: Arc<str>, link: Option<Arc<Link>>) -> Self {
        Self { handler, link, count: 0 }
    }

    /// Writes a line; one at `warn` is a warning of the handler, too. Beyond the limit it is dropped.
    pub(super) fn write(&mut self, level: LogLevel, message: &str) {
        self.count = self.count.saturating_add(1);
        if self.count > MAX_LINES {
            return;
        }
        let message = shortened(message);
        write(&self.handler, level, message);
        let Some(link) = &self.link else { return };
        link.logged(level, message);
        if level == LogLevel::Warn {
            link.warn(message);
        }
    }
}

/// Tells how many lines were dropped, once the call is over.
impl Drop for LogLines {
    fn drop(&mut self) {
        let dropped = self.count.saturating_sub(MAX_LINES);
        if dropped > 0 {
            write(&self.handler, LogLevel::Warn, &format!("{dropped} further lines were dropped"));
        }
    }
}

fn write(handler: &str, level: LogLevel, message: &str) {
    match level {
        LogLevel::Debug => tracing::debug!(target: "samuel::plugin", handler, "{message}"),
        LogLevel::Info => tracing::info!(target: "samuel::plugin", handler, "{message}"),
        LogLevel::Warn => tracing::warn!(target: "samuel::plugin", handler, "{message}"),
        LogLevel::Error => tracing::error!(target: "samuel::plugin", handler, "{message}"),
    }
}

fn shortened(message: &str) -> &str {
    message.get(..message.floor_char_boundary(MAX_MESSAGE_BYTES)).unwrap_or_default()
}
