//! What a workspace gets beside the files of a commit: files that git does not track, and what commands make there.
//!
//! Files are copied whenever a task begins, commands are run once in each workspace. What lanes landed before is in it
//! by then, so commands run in the sandbox in which the checks do. What can be copied, and how it is kept out of commits,
//! is in `copied`.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    WorkspaceError,
    clone::blocking,
    copied::{self, OwnPaths},
    git::Git,
};
use crate::{
    environment::{check_env, moved},
    fs::{Durability, Manner, Root, read_anywhere},
    process::{self, CommandSpec, OutputLimits},
    sandbox::{Host, Sandbox},
    text::{described, last_line},
};

/// Where it is noted, beside what was run, which files were there to be copied.
const BROUGHT: &str = "samuel-brought";
/// The largest note of what was run, in bytes.
const MAX_NOTE: u64 = 16 << 10;
/// How much is kept of what a command says, in bytes.
const MAX_TAIL: usize = 4 << 10;

/// What a workspace gets. By default nothing, on the host.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// Files that git does not track, by their paths from the project's root. Those that are not there are left out.
    pub copy: Vec<String>,
    /// Command lines, run by the shell in the project within a new work tree, and how long each may take.
    pub setup: Vec<(String, Duration)>,
    /// The environment that the caller gave. The commands get what checks get of it.
    pub setup_env: Vec<(String, String)>,
    /// What they run in, as checks do.
    pub sandbox: Arc<dyn Sandbox>,
}

impl Default for Preparation {
    fn default() -> Self {
        Self { copy: Vec::new(), setup: Vec::new(), setup_env: Vec::new(), sandbox: Arc::new(Host) }
    }
}

/// A work tree that is to be prepared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unprepared<'a> {
    /// The root of the user's project.
    pub(super) root: &'a Path,
    /// The top of the work tree.
    pub(super) tree: &'a Path,
    /// The project within it.
    pub(super) work_dir: &'a Path,
    /// Where it is noted which commands were run there, beside what else is known of it.
    pub(super) note: &'a Path,
}

impl Preparation {
    /// Prepares a work tree, and returns whether commands were run for that. None is run there again.
    pub(super) async fn apply(&self, git: &Git, to: Unprepared<'_>) -> Result<bool, WorkspaceError> {
        // A project that is only a part of its repository may not be in it.
        fs::create_dir_all(to.work_dir).map_err(WorkspaceError::io("create", to.work_dir))?;
        self.copy_all(to).await?;
        if self.is_set_up(to.note) {
            return Ok(false);
        }
        for (line, timeout) in &self.setup {
            self.run(git, line, *timeout, to).await?;
        }
        fs::write(to.note, self.lines()).map_err(WorkspaceError::io("write", to.note))?;
        Ok(true)
    }

    /// Copies what is there of the files to copy. The copy of one that is there no more is removed; one that was never
    /// there may be what a command of the setup makes, and stays.
    async fn copy_all(&self, to: Unprepared<'_>) -> Result<(), WorkspaceError> {
        let known = OwnPaths::noted(&to.note.with_file_name(BROUGHT));
        let mut brought = Vec::new();
        // What cannot be copied was refused before a run.
        for file in self.copy.iter().filter_map(|file| copied::plain_path(file)) {
            if copy(&file, to).await? {
                brought.push(file);
            } else if known.paths().contains(&file) {
                remove_copy(&file, to).await?;
            }
        }
        let brought = OwnPaths::from_paths(&brought);
        match known == brought {
            true => Ok(()),
            false => brought.write(&to.note.with_file_name(BROUGHT)),
        }
    }

    /// Says whether the commands were run in the work tree whose note this is; also where there are none.
    pub(super) fn is_set_up(&self, note: &Path) -> bool {
        let wanted = self.lines();
        wanted.is_empty() || read_anywhere(note, MAX_NOTE).is_ok_and(|known| known == wanted.as_bytes())
    }

    fn lines(&self) -> String {
        let lines: Vec<&str> = self.setup.iter().map(|(line, _)| line.as_str()).collect();
        lines.join("\n")
    }

    async fn run(
        &self,
        git: &Git,
        line: &str,
        timeout: Duration,
        to: Unprepared<'_>,
    ) -> Result<(), WorkspaceError> {
        let directory = to.work_dir.display().to_string();
        let places = ["SAMUEL_PROJECT_ROOT", "SAMUEL_WORKSPACE", "PWD"];
        let places = places.map(|name| (name.to_owned(), directory.clone())).into();
        let env = check_env(&moved(self.setup_env.iter().cloned(), to.root, to.work_dir), places);
        let spec = CommandSpec::shell(line, to.work_dir)
            .envs(env)
            .timeout(timeout)
            .limits(OutputLimits { head: 0, tail: MAX_TAIL, ..OutputLimits::default() })
            .merge_stderr(true);
        let failed = |why: String| WorkspaceError::SetUp { command: line.to_owned(), why };
        let spec = self.sandbox.wrap_check(spec).map_err(|error| failed(described(&error)))?;
        let ran = git.answer(spec).await.map_err(|error| failed(described(&error)))?;
        if ran.success() {
            return Ok(());
        }
        let said = ran.stdout.text();
        let said = last_line(&said).map(|line| format!(": {line}")).unwrap_or_default();
        let how = match (ran.end, ran.status) {
            (process::End::TimedOut, _) => "it took too long".to_owned(),
            (_, process::ExitStatus::Exited(code)) => format!("exit code {code}"),
            (_, process::ExitStatus::Signaled(signal)) => format!("ended by signal {signal}"),
        };
        Err(failed(format!("{how}{said}")))
    }
}

/// Copies a file, and says whether there is one.
async fn copy(file: &str, to: Unprepared<'_>) -> Result<bool, WorkspaceError> {
    let (root, file) = (to.root.to_owned(), file.to_owned());
    let (tree, asked) = in_tree(&file, to);
    blocking(move || {
        let bytes = match copied::read(&root, &file) {
            Ok(bytes) => bytes,
            // What is not there need not be copied.
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => return Err(WorkspaceError::file("read", &root.join(&file))(error)),
        };
        // An agent may have left links there: one in its place is replaced, and none is followed.
        let at = tree.path().join(&asked);
        let manner = Manner::PRIVATE.with(Durability::Unsynced);
        let place = tree.walk_straight(&asked);
        let written = place.and_then(|place| place.write([bytes.as_slice()], &manner));
        written.map_err(WorkspaceError::file("write", &at)).map(|()| true)
    })
    .await
}

/// Removes what was copied, where it is still there.
async fn remove_copy(file: &str, to: Unprepared<'_>) -> Result<(), WorkspaceError> {
    let (tree, asked) = in_tree(file, to);
    blocking(move || {
        let removed = tree.walk_straight(&asked).and_then(|_| tree.remove_own(&asked));
        match removed {
            Err(error) if !error.is_not_found() => {
                Err(WorkspaceError::file("remove", &tree.path().join(&asked))(error))
            }
            _ => Ok(()),
        }
    })
    .await
}

/// Returns the work tree, and the path within it that a file of the project has there.
fn in_tree(file: &str, to: Unprepared<'_>) -> (Root, PathBuf) {
    let at = to.work_dir.join(file);
    let asked = at.strip_prefix(to.tree).map_or_else(|_| at.clone(), Path::to_owned);
    (Root::new(to.tree), asked)
}
