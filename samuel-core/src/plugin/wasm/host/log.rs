//! `log`: lines for the log of the run.
//!
//! Lines go out as `tracing` events of the target `samuel::plugin`, with the
//! handler's id.

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lift, LinkerInstance, Lower};

use super::Guest;

/// The longest message that is kept whole, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;

/// The lines one call may write.
const MAX_LINES: u32 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
#[expect(dead_code, reason = "most are made by components only")]
enum Level {
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
}

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    interface.func_wrap("write", |mut store, (level, message): (Level, String)| {
        let guest: &mut Guest = store.data_mut();
        if guest.log.admit() {
            if let (Level::Warn, Some(link)) = (level, &guest.link) {
                link.warn(shortened(&message));
            }
            write(&guest.log.handler, level, shortened(&message));
        }
        Ok(())
    })
}

/// Counts the lines of a call.
#[derive(Debug)]
pub(crate) struct LogLines {
    handler: Arc<str>,
    count: u32,
}

impl LogLines {
    /// Starts with none of a handler.
    pub(crate) fn new(handler: Arc<str>) -> Self {
        Self { handler, count: 0 }
    }

    /// Says whether another line may be written.
    fn admit(&mut self) -> bool {
        self.count = self.count.saturating_add(1);
        self.count <= MAX_LINES
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
