//! The way out of the process: everything that is shown goes through here.
//!
//! Text of others is part of almost all that the command prints, and a terminal
//! takes orders from control characters. So [`show`] escapes what would act on
//! one, wherever the text comes from and wherever it goes: logs and pagers end on
//! a terminal, too. Styles and movements of the cursor are no text; the only ones
//! there are belong to a [`MovingLine`]. Passwords in URLs are hidden. What a command prints for another program
//! to read goes through [`hand_on`], which changes nothing unless a person looks on.
//!
//! `clippy.toml` refuses any other way to print.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use indicatif::ProgressStyle;
use samuel_core::model::redacted;

use crate::render::{safe, safe_lines};

/// How often a moving line is drawn.
const TICK: Duration = Duration::from_millis(120);

/// A stream of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Stdout, for what was asked for.
    Out,
    /// Stderr, for what is to be known beside it.
    Err,
}

impl Stream {
    /// Says whether a person looks on.
    #[expect(clippy::disallowed_methods, reason = "this is the module that prints")]
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Out => io::stdout().is_terminal(),
            Self::Err => io::stderr().is_terminal(),
        }
    }

    /// Says whether somebody reads: one that went away, such as `head`, is no error.
    #[expect(clippy::disallowed_methods, reason = "this is the module that prints")]
    fn write(self, text: &str) -> io::Result<bool> {
        let written = match self {
            Self::Out => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
            }
            // Not held longer: a question waits there while a signal may end the
            // command with a message.
            Self::Err => io::stderr().lock().write_all(text.as_bytes()),
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            written => written.map(|()| true),
        }
    }
}

/// Prints text: whole lines, or a question.
///
/// # Errors
/// What the system says where it cannot be written.
pub(crate) fn show(stream: Stream, text: &str) -> io::Result<()> {
    show_on(stream, text).map(drop)
}

/// Does the same, and says whether somebody reads on.
///
/// # Errors
/// What the system says where it cannot be written.
pub(crate) fn show_on(stream: Stream, text: &str) -> io::Result<bool> {
    stream.write(&safe_lines(&redacted(text)))
}

/// Prints a line on stderr that nothing depends on.
pub(crate) fn remark(text: &str) {
    // Without anybody to read it nothing more can be done.
    let _ = show(Stream::Err, &format!("{text}\n"));
}

/// Prints what another program reads on stdout: every character as it is, unless
/// stdout is a terminal.
///
/// # Errors
/// What the system says where it cannot be written.
pub(crate) fn hand_on(text: &str) -> io::Result<()> {
    if Stream::Out.is_terminal() { show(Stream::Out, text) } else { Stream::Out.write(text).map(drop) }
}

/// Lets panics of threads be told like anything else: their messages quote what
/// was at hand.
pub(crate) fn show_panics() {
    std::panic::set_hook(Box::new(|panic| remark(&format!("error: a fault in Samuel: {panic}"))));
}

/// A line on stderr that shows what happens now.
#[expect(clippy::disallowed_types, reason = "this is the module that prints")]
pub(crate) struct MovingLine(indicatif::ProgressBar);

impl MovingLine {
    /// Begins to draw.
    #[expect(clippy::disallowed_types, reason = "this is the module that prints")]
    pub(crate) fn new() -> Self {
        let bar = indicatif::ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed_precise}{prefix}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Says something else.
    pub(crate) fn say(&self, text: &str) {
        self.0.set_message(safe(&redacted(text)));
    }

    /// Says lines below it; none takes them away.
    pub(crate) fn say_below(&self, lines: &[String]) {
        let lines = lines.iter().map(|line| format!("\n{}", safe(&redacted(line))));
        self.0.set_prefix(lines.collect::<String>());
    }

    /// Prints something above it.
    pub(crate) fn beside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    /// Removes it.
    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}
