//! How much is done to read one command line.

/// How many steps are taken for one command line: about a second's work on a slow machine, and
/// many times what a line takes that somebody wrote.
const MAX_STEPS: usize = 500_000;

/// How many bytes of text are read in one step.
const BYTES: usize = 8;

/// What is left to be done for a command line. Its words may stand for a great many others, all
/// of which would be read.
#[derive(Debug)]
pub(super) struct Effort {
    left: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { left: MAX_STEPS }
    }
}

impl Effort {
    /// Takes so many steps. Says whether there were as many left; if not, none are.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or_default();
        left.is_some()
    }

    /// Says whether the command line was not read to its end.
    pub(super) fn is_spent(&self) -> bool {
        self.left == 0
    }
}

/// Returns how many steps a text takes.
pub(super) fn steps_of(text: &str) -> usize {
    1 + text.len() / BYTES
}
