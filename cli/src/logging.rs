//! What Samuel and its plugins log, on stderr: with `-v`, or as `SAMUEL_LOG` says.
//!
//! `SAMUEL_LOG` is a level, or levels by the names of targets: `debug`, `samuel::plugin=debug,warn`. Without
//! either nothing is logged; what somebody has to know is told in any case.

use std::io;

use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::{
    failure::Failure,
    host::Host,
    terminal::{Stream, show},
};

/// The variable with what is logged.
const FILTER: &str = "SAMUEL_LOG";

/// Has what is logged from now on printed.
///
/// # Errors
/// Returns a failure for a filter that is none.
pub(crate) fn install(verbose: u8, host: &Host) -> Result<(), Failure> {
    let level = match verbose {
        0 => None,
        1 => Some("info"),
        _ => Some("debug"),
    };
    let Some(filter) = host.var(FILTER).or(level) else { return Ok(()) };
    let targets: Targets = filter.parse().map_err(|error| {
        Failure::usage(format!("{FILTER} is no filter: {error}"))
            .advise("Give a level, such as debug, or levels by target: samuel::plugin=debug,warn.")
    })?;
    let lines = fmt::layer().with_ansi(false).with_writer(|| Lines);
    // Who runs the command in a process of their own may have one already, and keeps it.
    let _ = tracing_subscriber::registry().with(targets).with(lines).try_init();
    Ok(())
}

/// Stderr, where what plugins write does to a terminal no more than anything else that is printed.
struct Lines;

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        show(Stream::Err, &String::from_utf8_lossy(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
