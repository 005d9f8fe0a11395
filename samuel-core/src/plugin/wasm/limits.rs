//! How much a component may use.
//!
//! [`CodeLimits`] hold before it is compiled, since compiling cannot be
//! interrupted; [`CallLimits`] while it runs, where the [`Meter`] of each store
//! counts against them; [`WriteLimits`] over all calls of a run. Time is a call's own, see [`call`](super::call).

use wasmtime::ResourceLimiter;

/// What is compiled at all.
///
/// The defaults take the interpreters of Python and JavaScript, which are the
/// largest components there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLimits {
    /// The size of a component, in bytes. Default 64 MiB.
    pub max_component_bytes: usize,
    /// The size of one function, in bytes. Default 2 MiB.
    pub max_function_bytes: usize,
    /// The functions of all its modules. Default 200,000.
    pub max_functions: usize,
    /// The modules within it. Default 256.
    pub max_modules: usize,
    /// How deep blocks are nested in a function. Default 2,000.
    pub max_block_depth: usize,
    /// How deep components are nested. Default 16.
    pub max_component_depth: usize,
    /// What compiling it takes, in units of its own. The compiler's time for a
    /// function grows with its branches times its branches and locals, and
    /// that is what is added up; a loop counts as twelve. Default
    /// four billion: some seconds. Python takes half a billion.
    pub max_effort: usize,
}

impl Default for CodeLimits {
    fn default() -> Self {
        Self {
            max_component_bytes: 64 * MIB,
            max_function_bytes: 2 * MIB,
            max_functions: 200_000,
            max_modules: 256,
            max_block_depth: 2_000,
            max_component_depth: 16,
            max_effort: 4_000_000_000,
        }
    }
}

/// How many branches a loop stands for: the compiler adds a look at the epoch to
/// each, and joins all that changes in it.
pub(super) const LOOP_BRANCHES: usize = 12;

/// What one call may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// All memories together, in bytes. Default 64 MiB.
    pub max_memory_bytes: usize,
    /// The elements of all tables together. Default 200,000.
    pub max_table_elements: usize,
    /// Core instances. Default 256.
    pub max_instances: usize,
    /// The stack, in bytes. Default 512 KiB. It belongs to the engine: all
    /// plugins of a host have the same.
    pub max_stack_bytes: usize,
    /// What crosses from the component to Samuel at once, as an answer or as
    /// the arguments of one host function, in bytes. Default 16 MiB.
    pub max_transfer_bytes: usize,
    /// The end of its standard error that is kept, in bytes. Default 16 KiB.
    pub max_stderr_bytes: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            max_memory_bytes: 64 * MIB,
            max_table_elements: 200_000,
            max_instances: 256,
            max_stack_bytes: MIB / 2,
            max_transfer_bytes: 16 * MIB,
            max_stderr_bytes: 16 * 1024,
        }
    }
}

/// What one plugin may write into the project in one run.
///
/// What is replaced counts like what is new, and a directory like a file. What
/// is removed is not given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteLimits {
    /// The bytes of all files. Default 256 MiB.
    pub max_bytes: u64,
    /// The files and directories. Default 10,000.
    pub max_files: u64,
}

impl Default for WriteLimits {
    fn default() -> Self {
        Self { max_bytes: 256 * MIB as u64, max_files: 10_000 }
    }
}

const MIB: usize = 1024 * 1024;

/// The memories and the tables a component may have; their sizes are what
/// counts.
const MAX_PARTS: usize = 64;

/// A component reached a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it wanted {wanted} {what}; the limit is {limit}")]
pub(super) struct LimitReached {
    pub(super) what: &'static str,
    pub(super) wanted: usize,
    pub(super) limit: usize,
}

/// What a store has used of its limits.
///
/// Growing past one is a trap and not a `-1` for the guest: few guests look,
/// and the trap says what happened.
#[derive(Debug)]
pub(super) struct Meter {
    memory_bytes: Gauge,
    table_elements: Gauge,
    max_instances: usize,
}

impl Meter {
    pub(super) fn new(limits: &CallLimits) -> Self {
        Self {
            memory_bytes: Gauge { what: "bytes of memory", used: 0, limit: limits.max_memory_bytes },
            table_elements: Gauge { what: "table elements", used: 0, limit: limits.max_table_elements },
            max_instances: limits.max_instances,
        }
    }
}

/// One thing that is counted over all memories or tables.
#[derive(Debug)]
struct Gauge {
    what: &'static str,
    used: usize,
    limit: usize,
}

impl Gauge {
    fn grow(&mut self, current: usize, desired: usize) -> Result<bool, LimitReached> {
        let wanted = self.used.saturating_add(desired.saturating_sub(current));
        if wanted > self.limit {
            return Err(LimitReached { what: self.what, wanted, limit: self.limit });
        }
        self.used = wanted;
        Ok(true)
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.memory_bytes.grow(current, desired)?)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        Err(error)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.table_elements.grow(current, desired)?)
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        Err(error)
    }

    fn instances(&self) -> usize {
        self.max_instances
    }

    fn tables(&self) -> usize {
        MAX_PARTS
    }

    fn memories(&self) -> usize {
        MAX_PARTS
    }
}
