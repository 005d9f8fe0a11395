//! How much a template may cost: [`TemplateLimits`], and what one rendering has left of
//! them: [`Budgets`].
//!
//! Templates come with repositories and plugins, so every dimension in which
//! one can grow has a bound, and passing it is a typed error.

use std::cell::Cell;

/// Bounds on parsing and rendering one template.
///
/// The defaults are far above what a prompt needs and far below what would be
/// noticed as a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateLimits {
    /// Largest source, in bytes. Default: [`TemplateLimits::SOURCE_BYTES`].
    pub source_bytes: usize,
    /// Deepest nesting of blocks, parentheses and pipeline stages together; the
    /// arguments of `and` and `or` count one level each.
    /// Default and largest value: [`TemplateLimits::NESTING`]; more is taken as that.
    pub nesting: usize,
    /// Instructions one rendering may execute: each statement, each value in one and
    /// each turn of a loop. Default: [`TemplateLimits::FUEL`].
    pub fuel: u64,
    /// Bytes that functions may read and build in one rendering, beside what
    /// is written out. Default: [`TemplateLimits::WORK_BYTES`].
    pub work_bytes: usize,
    /// Largest rendered text, in bytes. Default: [`TemplateLimits::OUTPUT_BYTES`].
    pub output_bytes: usize,
}

impl TemplateLimits {
    /// The default largest source: 256 KiB.
    pub const SOURCE_BYTES: usize = 256 * 1024;
    /// The deepest nesting there can be: 60 levels. It protects the stack.
    pub const NESTING: usize = 60;
    /// The default number of instructions: one million.
    pub const FUEL: u64 = 1_000_000;
    /// The default work of functions: 16 MiB.
    pub const WORK_BYTES: usize = 16 * 1024 * 1024;
    /// The default largest rendered text: 4 MiB.
    pub const OUTPUT_BYTES: usize = 4 * 1024 * 1024;
    /// How deep `{{ template }}` calls can go: 40.
    pub const TEMPLATE_CALLS: usize = 40;
    /// How many arguments a call can have: 255.
    pub const ARGUMENTS: usize = 255;
}

impl Default for TemplateLimits {
    fn default() -> TemplateLimits {
        TemplateLimits {
            source_bytes: TemplateLimits::SOURCE_BYTES,
            nesting: TemplateLimits::NESTING,
            fuel: TemplateLimits::FUEL,
            work_bytes: TemplateLimits::WORK_BYTES,
            output_bytes: TemplateLimits::OUTPUT_BYTES,
        }
    }
}

/// What one rendering can still spend of each limit.
#[derive(Debug)]
pub(crate) struct Budgets {
    pub(crate) fuel: Budget,
    pub(crate) work: Budget,
    pub(crate) output: Budget,
}

impl Budgets {
    pub(crate) fn new(limits: &TemplateLimits) -> Budgets {
        Budgets {
            fuel: Budget(Cell::new(usize::try_from(limits.fuel).unwrap_or(usize::MAX))),
            work: Budget(Cell::new(limits.work_bytes)),
            output: Budget(Cell::new(limits.output_bytes)),
        }
    }
}

/// An amount that is used up.
#[derive(Debug)]
pub(crate) struct Budget(Cell<usize>);

impl Budget {
    /// Takes an amount off; `None` where there is less.
    pub(crate) fn spend(&self, amount: usize) -> Option<()> {
        self.0.set(self.0.get().checked_sub(amount)?);
        Some(())
    }
}
