//! The scripted agent's tools: what a handler may prevent or change.

use std::{
    error::Error,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{agent::mutation::ability_id, state::Mutation};

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

impl WriteFile {
    pub(super) async fn apply(&self, root: &Path) -> Result<String, ActionError> {
        let path = inside(root, &self.file_path)?;
        if let Some(parent) = path.parent() {
            tokio::fs::create_dir_all(parent).await?;
        }
        tokio::fs::write(&path, &self.content).await?;
        Ok(format!("wrote {}", self.file_path))
    }
}

impl EditFile {
    pub(super) async fn apply(&self, root: &Path) -> Result<String, ActionError> {
        let path = inside(root, &self.file_path)?;
        let text = tokio::fs::read_to_string(&path).await?;
        match text.matches(&self.old_string).count() {
            1 => {}
            0 => return Err(format!("{} does not hold the text to replace", self.file_path).into()),
            count => return Err(format!("{} holds the text to replace {count} times", self.file_path).into()),
        }
        tokio::fs::write(&path, text.replacen(&self.old_string, &self.new_string, 1)).await?;
        Ok(format!("edited {}", self.file_path))
    }
}

impl DeleteFile {
    pub(super) async fn apply(&self, root: &Path) -> Result<String, ActionError> {
        tokio::fs::remove_file(inside(root, &self.file_path)?).await?;
        Ok(format!("deleted {}", self.file_path))
    }
}

/// Returns a path below the project, or why it is none. A link that leads out
/// of the project is refused too.
fn inside(root: &Path, path: &str) -> Result<PathBuf, ActionError> {
    let relative = Path::new(path);
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.is_empty() || !relative.components().all(plain) {
        return Err(format!("\"{path}\" is not a path inside the project").into());
    }
    let whole = root.join(relative);
    let real_root = root.canonicalize()?;
    let existing = whole.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    match existing {
        Some(real) if real.starts_with(&real_root) => Ok(whole),
        _ => Err(format!("\"{path}\" leads out of the project").into()),
    }
}
