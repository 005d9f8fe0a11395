//! Writing a new repository hook: its file, and a script that answers already.

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::Value;

use super::{EventType, file, files, sample_event::beside_sample};
use crate::{
    config::ConfigError,
    fs::{FileError, Manner, PROJECT_DIRECTORY, Root},
    hook::HookPoint,
    model::{Coded, ErrorCode, Remedy},
};

/// Where scripts of hooks go, relative to the project's root.
const SCRIPTS: &str = "scripts/hooks";
const SH: &str = include_str!("scaffold/hook.sh.tmpl");
const PYTHON: &str = include_str!("scaffold/hook.py.tmpl");

/// What the script of a hook is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScriptLanguage {
    /// A script for `sh`; the default.
    #[default]
    Sh,
    /// A script for `python3`.
    Python,
}

impl ScriptLanguage {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Sh, Self::Python];

    /// Returns the word for it: `sh` or `python`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sh => "sh",
            Self::Python => "python",
        }
    }

    /// Returns the language of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Sh => "sh",
            Self::Python => "py",
        }
    }
}

/// A repository hook that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewHook {
    /// Its name: small letters, digits, `-` and `_`.
    pub id: String,
    /// When it runs.
    pub event_type: EventType,
    /// What it is for; empty for a sentence that says it is still to be written.
    pub summary: String,
    /// Whether it can stop what it is asked about, where the event lets it.
    pub blocking: bool,
    /// Globs of abilities; empty for all.
    pub ability_scope: Vec<String>,
    /// How long a call took at least, in milliseconds.
    pub min_duration_ms: u64,
    /// Globs of paths, one of which was changed; empty for any.
    pub only_if_changed_paths: Vec<String>,
    /// What its script is written in.
    pub language: ScriptLanguage,
}

/// A repository hook that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScaffoldedHook {
    /// The handler's id, such as `repo:tracker`.
    pub id: String,
    /// What its file calls the event.
    pub event_type: String,
    /// The hook point of it.
    pub point: HookPoint,
    /// Whether it can stop what it is asked about.
    pub blocking: bool,
    /// Which events it is for, in words; empty for all of them.
    pub matches: String,
    /// What an event has to have beside the sample of its point for the hook to be for it, an empty object
    /// where that is one; nothing where no such event was found.
    pub event: Option<Value>,
    /// Its file, relative to the project's root.
    pub file: PathBuf,
    /// Its script, relative to the project's root.
    pub script: PathBuf,
}

/// Why a hook was not written. Nothing of it is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScaffoldError {
    /// Something is where it would be, or another hook has its id.
    #[error("there is a hook \"{id}\" already: {path}", path = path.display())]
    Exists {
        /// The id.
        id: String,
        /// The file that is there.
        path: PathBuf,
    },
    /// What it is to say cannot be said.
    #[error(transparent)]
    Invalid(ConfigError),
    /// It cannot be written.
    #[error("{path} cannot be written", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: FileError,
    },
}

impl Coded for ScaffoldError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Exists { .. } | Self::Invalid(_) => ErrorCode::USAGE,
            Self::Io { .. } => ErrorCode::INPUT_IO,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Exists { .. } => "Choose another id, or change the hook that is there.".into(),
            Self::Invalid(error) => {
                let helps: Vec<String> =
                    error.problems().iter().map(|problem| problem.help().prose()).collect();
                helps.join(" ").into()
            }
            Self::Io { source, .. } => {
                source.help().unwrap_or("Check that the directory is writable.").into()
            }
        }
    }
}

impl NewHook {
    /// Describes a hook that answers to all events of a kind and stops none, with a script for `sh`.
    pub fn new(id: impl Into<String>, event_type: EventType) -> Self {
        Self {
            id: id.into(),
            event_type,
            summary: String::new(),
            blocking: false,
            ability_scope: Vec::new(),
            min_duration_ms: 0,
            only_if_changed_paths: Vec::new(),
            language: ScriptLanguage::default(),
        }
    }

    /// Writes it into the project at a root: `.system/hooks/<id>.yaml`, and a script below `scripts/hooks`
    /// that can be executed. Never writes over anything. Blocks.
    ///
    /// ```
    /// use samuel_core::dialect::{EventType, HookFiles, NewHook};
    ///
    /// let project = tempfile::tempdir()?;
    /// let made = NewHook::new("tracker", EventType::PostAbilityCall).write(project.path())?;
    /// assert_eq!(made.id, "repo:tracker");
    /// assert!(HookFiles::read(project.path())?.problems().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns a [`ScaffoldError`] where there is such a hook, where its id or a glob is none, and where it
    /// cannot be written.
    pub fn write(&self, root: &Path) -> Result<ScaffoldedHook, ScaffoldError> {
        let root = Root::new(root);
        let path = files::file_of(&self.id);
        let script = Path::new(SCRIPTS).join(format!("{}.{}", self.id, self.language.ending()));
        let text = self.text(&script);
        // Before its id is a part of any path.
        let hook = file::parse(&path, &text)
            .map_err(|problems| ScaffoldError::Invalid(ConfigError::Invalid(problems)))?;
        self.keep_unique(&root, [&path, &script])?;
        create(&root, &script, &self.script(), true)?;
        if let Err(error) = create(&root, &path, &text, false) {
            // It has no use without the file.
            let _ = root.remove_own(&script);
            return Err(error);
        }
        Ok(ScaffoldedHook {
            id: hook.handler_id(),
            event_type: self.event_type.as_str().to_owned(),
            point: self.event_type.point(),
            blocking: hook.blocking,
            matches: hook.entry().matches.clone(),
            event: beside_sample(&hook),
            file: path,
            script,
        })
    }

    fn keep_unique(&self, root: &Root, paths: [&Path; 2]) -> Result<(), ScaffoldError> {
        let exists = |path: &Path| ScaffoldError::Exists { id: self.id.clone(), path: path.to_owned() };
        for path in paths {
            match root.has(path) {
                Ok(false) => {}
                Ok(true) => return Err(exists(path)),
                Err(source) => return Err(ScaffoldError::Io { path: path.to_owned(), source }),
            }
        }
        let files = files::read(root);
        let other = files.hooks.iter().find(|hook| hook.id == self.id);
        other.map_or(Ok(()), |other| Err(exists(&other.entry().file)))
    }

    /// Writes its file.
    fn text(&self, script: &Path) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let list = |globs: &[String]| globs.iter().map(|glob| quoted(glob)).collect::<Vec<_>>().join(", ");
        let event_type = self.event_type;
        let mut text = format!("id: {}\nevent_type: {}\n", quoted(&self.id), event_type.as_str());
        text.push_str("enabled: true\n\n");
        text.push_str(&format!("summary: {}\n\n", quoted(&self.summary())));
        if event_type.can_block() {
            text.push_str(
                "# Whether it can stop what it is asked about; it then stops it where it breaks, too.\n",
            );
            text.push_str(&format!("blocking: {}\n\n", self.blocking));
        }
        let mut conditions = String::new();
        if event_type.is_of_ability() {
            let every = ["*".to_owned()];
            let scope = if self.ability_scope.is_empty() { &every } else { self.ability_scope.as_slice() };
            conditions.push_str(&format!("  ability_scope: [{}]\n", list(scope)));
        }
        if event_type == EventType::PostAbilityCall {
            conditions.push_str(&format!("  min_duration_ms: {}\n", self.min_duration_ms));
        }
        if !self.only_if_changed_paths.is_empty() && event_type.has_changed_files() {
            conditions
                .push_str(&format!("  only_if_changed_paths: [{}]\n", list(&self.only_if_changed_paths)));
        }
        if !conditions.is_empty() {
            text.push_str(&format!("match:\n{conditions}\n"));
        }
        let command = quoted(&format!("./{}", script.display()));
        text + &format!("handler:\n  kind: script\n  command: {command}\n  timeout: 30s\n")
    }

    fn summary(&self) -> String {
        let summary = self.summary.split_whitespace().collect::<Vec<_>>().join(" ");
        match summary.is_empty() {
            true => {
                format!("Says what it saw at {}; its work is still to be written.", self.event_type.as_str())
            }
            false => summary,
        }
    }

    /// Writes its script, which answers as it is.
    fn script(&self) -> String {
        let template = match self.language {
            ScriptLanguage::Sh => SH,
            ScriptLanguage::Python => PYTHON,
        };
        let stops = match self.event_type.can_block() {
            true => "With blocking: true, block_execution stops what the hook is asked about.",
            false => "Nothing can be stopped at this event.",
        };
        let filled = template.replace("{id}", &self.id).replace("{event_type}", self.event_type.as_str());
        // Last, so that nothing in it is filled in.
        filled.replace("{stops}", stops).replace("{summary}", &self.summary())
    }
}

/// Writes a file that is not there, with the directories above it.
fn create(root: &Root, path: &Path, text: &str, is_executable: bool) -> Result<(), ScaffoldError> {
    let write = || {
        if let Some(directory) = path.parent() {
            root.create_directory(directory, PROJECT_DIRECTORY)?;
        }
        root.write_new(path, text.as_bytes(), &Manner::PROJECT)?;
        if is_executable {
            let file = root.open(path)?;
            let mode = file.metadata()?.permissions().mode();
            // Whoever may read it may execute it.
            file.set_permissions(Permissions::from_mode(mode | (mode & 0o444) >> 2))?;
        }
        Ok(())
    };
    write().map_err(|source| ScaffoldError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::dialect::HookFiles;

    #[test]
    fn what_is_written_is_valid_for_each_event_and_language() {
        for event_type in EventType::ALL {
            for language in ScriptLanguage::ALL {
                let dir = tempfile::tempdir().unwrap();
                let hook = NewHook {
                    summary: "Says \"why\": {stops}\n# and 'how'".to_owned(),
                    blocking: true,
                    ability_scope: vec!["edit_*".to_owned(), "!edit_docs".to_owned()],
                    min_duration_ms: 5,
                    only_if_changed_paths: vec!["src/**".to_owned()],
                    language,
                    ..NewHook::new("new-hook_1", event_type)
                };
                let made = hook.write(dir.path()).unwrap();
                let files = HookFiles::read(dir.path()).unwrap();
                assert_eq!(files.warnings(), [""; 0], "{event_type:?} {language:?}");
                let read = files.repository_hooks().next().unwrap();
                assert_eq!((read.blocking, read.event_type), (event_type.can_block(), event_type));
                assert_eq!(read.summary, "Says \"why\": {stops} # and 'how'");
                assert_eq!(read.entry().matches, made.matches);
                let mode = dir.path().join(&made.script).metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o500, 0o500);
            }
        }
    }

    #[test]
    fn nothing_is_written_over_and_nothing_is_left_of_what_cannot_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let hook = NewHook::new("a", EventType::SessionStop);
        hook.write(dir.path()).unwrap();
        assert!(matches!(hook.write(dir.path()), Err(ScaffoldError::Exists { .. })));
        std::fs::rename(dir.path().join(".system/hooks/a.yaml"), dir.path().join(".system/hooks/b.yaml"))
            .unwrap();
        std::fs::remove_file(dir.path().join("scripts/hooks/a.sh")).unwrap();
        let refused = hook.write(dir.path()).unwrap_err();
        assert_eq!(refused.to_string(), "there is a hook \"a\" already: .system/hooks/b.yaml");
        for id in ["", "A", "../x", "a/b", "-a"] {
            let refused = NewHook::new(id, EventType::SessionStop).write(dir.path());
            assert!(matches!(refused, Err(ScaffoldError::Invalid(_))), "{id}: {refused:?}");
        }
        let bad =
            NewHook { ability_scope: vec!["[".to_owned()], ..NewHook::new("c", EventType::PreAbilityCall) };
        assert!(matches!(bad.write(dir.path()), Err(ScaffoldError::Invalid(_))));
        assert_eq!(dir.path().join("scripts/hooks").read_dir().unwrap().count(), 0);
    }
}
