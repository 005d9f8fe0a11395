//! Lines for the log of the run, under the name of the handler.
//!
//! A message longer than 16 KiB is cut; after 1,000 lines in one call the rest
//! is dropped and counted. No capability is needed.

#[doc(inline)]
pub use crate::host::bindings::samuel::plugin::log::Level;
use crate::host::bindings::samuel::plugin::log::write;

/// Writes a line.
pub fn log(level: Level, message: impl AsRef<str>) {
    write(level, message.as_ref());
}

/// Writes a line for whoever looks for a mistake in the plugin.
pub fn debug(message: impl AsRef<str>) {
    log(Level::Debug, message);
}

/// Writes a line on what was done.
pub fn info(message: impl AsRef<str>) {
    log(Level::Info, message);
}

/// Writes a line on what is odd and did not stop the handler.
pub fn warn(message: impl AsRef<str>) {
    log(Level::Warn, message);
}

/// Writes a line on what went wrong.
pub fn error(message: impl AsRef<str>) {
    log(Level::Error, message);
}
