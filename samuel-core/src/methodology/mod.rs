//! Methodologies: what a loop does at each of its hook points by default.
//!
//! A [`Methodology`] has a name, settings to start from, prompt templates, and
//! registers the default handlers, which get what they work with as a [`Kit`].
//! [`ralph`] is the one that is [built in](built_in); a program brings its own
//! ([`Project::open_with`](crate::project::Project::open_with)), and plugins have
//! profiles: other settings, chains and templates over the one that is built in.
//!
//! ```
//! use samuel_core::{
//!     hook::{Call, RegistryBuilder, points},
//!     methodology::{Kit, Methodology, built_in},
//!     model::payload::ContextTaskOutput,
//! };
//!
//! /// Works as the built-in one does, and tells agents less of their task.
//! #[derive(Debug)]
//! struct Terse;
//!
//! impl Methodology for Terse {
//!     fn name(&self) -> &str {
//!         "terse"
//!     }
//!
//!     fn templates(&self) -> Vec<(&str, &str)> {
//!         vec![("prompt.md.tmpl", "Do {{ .Iteration.TaskID }}.\n")]
//!     }
//!
//!     fn register(&self, kit: Kit, registry: &mut RegistryBuilder) {
//!         built_in().register(kit, registry);
//!         registry.default_handler::<points::ContextTask, _>(async |_: Call<points::ContextTask>| {
//!             Ok(ContextTaskOutput::default())
//!         });
//!     }
//! }
//! ```

mod kit;
mod overrides;
pub mod ralph;
mod templates;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use crate::{config::MethodologySettings, hook::RegistryBuilder};

pub use kit::{Kit, WatchedFiles};
pub use overrides::{StaleTemplate, Staleness};
pub(crate) use overrides::{marked, staleness};
pub(crate) use templates::MAX_BYTES as MAX_TEMPLATE_BYTES;
pub use templates::{LoadedTemplate, Templates, TemplatesError};

/// What a loop does by default.
///
/// One may stand on another: what is registered later for a point replaces what
/// was registered before.
pub trait Methodology: fmt::Debug + Send + Sync {
    /// Returns its name, as `[methodology.<name>]` and `.samuel/templates/<name>/` have it.
    fn name(&self) -> &str;

    /// Returns other names for it. Default none.
    fn aliases(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Returns the settings that samuel.toml goes over. Default those of every loop.
    fn settings(&self) -> MethodologySettings {
        MethodologySettings::default()
    }

    /// Returns its templates, each with its file name. A project replaces one by a
    /// file of that name, and [`Kit::templates`] has what came of it. Default none.
    fn templates(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    /// Registers the default handlers of a run.
    fn register(&self, kit: Kit, registry: &mut RegistryBuilder);
}

/// Returns the methodology that is built in.
pub fn built_in() -> Arc<dyn Methodology> {
    Arc::new(ralph::Ralph)
}

/// Says whether a methodology has a name, or has it for an alias.
pub(crate) fn is_called(methodology: &dyn Methodology, name: &str) -> bool {
    methodology.name() == name || methodology.aliases().contains(&name)
}
