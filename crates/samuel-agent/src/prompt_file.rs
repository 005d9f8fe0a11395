//! A prompt in a file, for commands that do not read standard input.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::AgentRequest;

/// A file that only its owner can read; dropping it removes it.
#[derive(Debug)]
pub(super) struct PromptFile {
    path: PathBuf,
}

impl PromptFile {
    /// Writes the prompt beside the log files, or else into the directory that
    /// `TMPDIR` of the agent's environment names.
    pub(super) fn create(request: &AgentRequest) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("prompt-{}-{number}.md", std::process::id());
        let path = directory(request).join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let prompt = Self { path };
        file.write_all(request.prompt.as_bytes())?;
        Ok(prompt)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PromptFile {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the directory.
        let _ = fs::remove_file(&self.path);
    }
}

fn directory(request: &AgentRequest) -> PathBuf {
    let beside_logs = request.logs.as_ref().and_then(|logs| logs.out.parent()).map(Path::to_path_buf);
    let temporary = || {
        let named = request.env.iter().rev().find(|(name, _)| name == "TMPDIR");
        PathBuf::from(named.map_or("/tmp", |(_, value)| value))
    };
    beside_logs.unwrap_or_else(temporary)
}
