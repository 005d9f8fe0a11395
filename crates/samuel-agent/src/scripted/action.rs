//! The scripted agent's tools: what a handler may prevent or change.

use std::{
    error::Error,
    path::{Component, Path},
};

use samuel_fs::{Durability, FileError, Manner, Root};
use samuel_model::run_blocking;
use samuel_state::Mutation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mutation::ability_id;

/// The largest file that is edited, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// A tool call with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Write(WriteFile),
    Edit(EditFile),
    Delete(DeleteFile),
    Run(RunCommand),
    Mutate(Mutation),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WriteFile {
    pub(super) file_path: String,
    pub(super) content: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EditFile {
    pub(super) file_path: String,
    pub(super) old_string: String,
    pub(super) new_string: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct DeleteFile {
    pub(super) file_path: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunCommand {
    pub(super) command: String,
}

/// Why an action failed, for the agent to read.
pub(super) type ActionError = Box<dyn Error + Send + Sync>;

impl Action {
    /// Returns the tool, named as real agents name theirs.
    pub(super) fn tool(&self) -> String {
        match self {
            Self::Write(_) => "Write".to_owned(),
            Self::Edit(_) => "Edit".to_owned(),
            Self::Delete(_) => "Delete".to_owned(),
            Self::Run(_) => "Bash".to_owned(),
            Self::Mutate(mutation) => ability_id(mutation),
        }
    }

    /// Returns the arguments.
    pub(super) fn input(&self) -> Value {
        let value = match self {
            Self::Write(input) => serde_json::to_value(input),
            Self::Edit(input) => serde_json::to_value(input),
            Self::Delete(input) => serde_json::to_value(input),
            Self::Run(input) => serde_json::to_value(input),
            Self::Mutate(input) => serde_json::to_value(input),
        };
        value.expect("records of texts are JSON")
    }

    /// Returns the same action with the arguments that handlers left.
    pub(super) fn with_input(&self, input: &str) -> Result<Self, serde_json::Error> {
        Ok(match self {
            Self::Write(_) => Self::Write(serde_json::from_str(input)?),
            Self::Edit(_) => Self::Edit(serde_json::from_str(input)?),
            Self::Delete(_) => Self::Delete(serde_json::from_str(input)?),
            Self::Run(_) => Self::Run(serde_json::from_str(input)?),
            Self::Mutate(_) => Self::Mutate(serde_json::from_str(input)?),
        })
    }
}

/// How files of the project are written: the agent does not wait for the disk.
const MADE_ANEW: Manner = Manner::PROJECT.with(Durability::Unsynced);

impl WriteFile {
    pub(super) async fn apply(&self, root: &Path) -> Result<String, ActionError> {
        let (path, content) = (self.file_path.clone(), self.content.clone());
        inside(root, path, move |root, path| root.write(path, [content.as_bytes()], &MADE_ANEW)).await?;
        Ok(format!("wrote {}", self.file_path))
    }
}

impl EditFile {
    pub(super) async fn apply(&self, root: &Path) -> Result<String, ActionError> {
        let name = || self.file_path.clone();
        let text = inside(root, name(), |root, path| root.read_text(path, MAX_FILE_BYTES)).await?;
        match text.matches(&self.old_string).count() {
            1 => {}
            0 => return Err(format!("{} does not hold the text to replace", self.file_path).into()),
            count => return Err(format!("{} holds the text to replace {count} times", self.file_path).into()),
        }
        let text = text.replacen(&self.old_string, &self.new_string, 1);
        inside(root, name(), move |root, path| root.write(path, [text.as_bytes()], &MADE_ANEW)).await?;
        Ok(format!("edited {}", self.file_path))
    }
}

impl DeleteFile {
    pub(super) async fn apply(&self, root: &Path) -> Result<String, ActionError> {
        inside(root, self.file_path.clone(), Root::remove_own).await?;
        Ok(format!("deleted {}", self.file_path))
    }
}

/// Does something with a path below the project, or says why it is none. A link
/// that leads out of the project is refused too.
async fn inside<T: Send + 'static>(
    root: &Path,
    path: String,
    action: impl FnOnce(&Root, &Path) -> Result<T, FileError> + Send + 'static,
) -> Result<T, ActionError> {
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.is_empty() || !Path::new(&path).components().all(plain) {
        return Err(format!("\"{path}\" is not a path inside the project").into());
    }
    let root = Root::new(root);
    let done = run_blocking(move || action(&root, &root.path().join(path))).await?;
    Ok(done?)
}
