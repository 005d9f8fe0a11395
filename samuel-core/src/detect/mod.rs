//! What a project is written in, and how it is checked.
//!
//! [`detect`] guesses both from a list of paths and the few manifests it names; the
//! project's own files are listed and read in `project`. Nothing is run.
//!
//! ```
//! use samuel_core::detect::detect;
//!
//! let found = detect(["Cargo.toml", "src/lib.rs"], |_| Some("[package]".to_owned()));
//! assert_eq!(found.languages, ["rust"]);
//! assert!(found.quality_checks.iter().any(|command| command.starts_with("cargo test")));
//! ```

mod checks;
mod project;

pub use checks::{Detected, detect};
pub(crate) use project::{detect_languages, detect_project, list_files};
