//! Components that cannot be used.

use std::{io, path::PathBuf};

use super::ProtocolVersion;
use crate::{
    hook::HookPoint,
    model::{Coded, ErrorCode},
    plugin::Capability,
};

/// What caused an error of the engine.
pub(super) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A component that was refused, or a host that cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WasmError {
    /// The engine cannot be set up on this machine.
    #[error("the WASM engine cannot be started")]
    Engine {
        /// What the engine said.
        source: Cause,
    },
    /// The directory for compiled components cannot be used.
    #[error("the cache of compiled components, {}, cannot be used", path.display())]
    CacheDir {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others can write where compiled components are kept, and could have
    /// them run.
    #[error("the cache of compiled components, {}, is open to others", path.display())]
    CacheOpen {
        /// The directory.
        path: PathBuf,
    },
    /// It is a core module, not a component.
    #[error("this is a core WASM module, not a component")]
    CoreModule,
    /// The bytes are no component.
    #[error("this is not a WASM component")]
    Malformed {
        /// What is wrong, with the offset.
        source: Cause,
    },
    /// It is larger or more involved than Samuel compiles.
    #[error("the component has {found} {what}; the limit is {limit}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: usize,
        /// How much there may be.
        limit: usize,
    },
    /// It was built against a later version of the contract.
    #[error(
        "the component needs Samuel >= {}: `{name}` is of plugin protocol {protocol}, this Samuel speaks {}",
        protocol.needed_samuel(),
        ProtocolVersion::CURRENT
    )]
    NeedsNewer {
        /// The import or export that shows it.
        name: String,
        /// The version it was built against.
        protocol: ProtocolVersion,
    },
    /// It was built against a version of the contract that is gone.
    #[error(
        "the component was built for plugin protocol {protocol}, this Samuel speaks {}: `{name}`",
        ProtocolVersion::CURRENT
    )]
    Outdated {
        /// The import or export that shows it.
        name: String,
        /// The version it was built against.
        protocol: ProtocolVersion,
    },
    /// It imports what its manifest does not ask for.
    #[error("the component imports `{import}`, but its manifest does not ask for `{capability}`")]
    Undeclared {
        /// The import.
        import: String,
        /// The capability that goes with it.
        capability: Capability,
    },
    /// It imports what Samuel does not have.
    #[error("the component imports `{import}`, which Samuel does not offer")]
    UnknownImport {
        /// The import.
        import: String,
    },
    /// A binding names a handler that the component does not export.
    #[error("the component has no handler `{handler}` for {point}{}", exported(exports))]
    NoHandler {
        /// The point of the binding.
        point: HookPoint,
        /// The handler as the binding names it.
        handler: String,
        /// What the component exports.
        exports: Vec<String>,
    },
    /// A handler has another type than its point asks for.
    #[error("`{export}` does not have the type of {point}: {mismatch}")]
    Signature {
        /// The point of the binding.
        point: HookPoint,
        /// The export.
        export: String,
        /// Where they differ: what was expected and what was found.
        mismatch: String,
    },
    /// The component does not compile.
    #[error("the component cannot be compiled")]
    Compile {
        /// What the compiler said.
        source: Cause,
    },
    /// An import has another type than Samuel's.
    #[error("the component cannot be linked")]
    Link {
        /// Which import, and how it differs.
        source: Cause,
    },
}

/// Ends a message with what there is instead.
fn exported(exports: &[String]) -> String {
    match exports {
        [] => "; it exports nothing".to_owned(),
        exports => format!("; it exports {}", exports.join(", ")),
    }
}

impl Coded for WasmError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Engine { .. } => ErrorCode::INTERNAL,
            Self::CacheDir { .. } | Self::CacheOpen { .. } => ErrorCode::PLUGIN_CACHE,
            Self::NeedsNewer { .. } | Self::Outdated { .. } => ErrorCode::PLUGIN_VERSION,
            Self::Undeclared { .. } => ErrorCode::PLUGIN_UNDECLARED,
            _ => ErrorCode::PLUGIN_COMPONENT,
        }
    }
}
