//! What a prompt tells of the PRD that the plan was converted from.
//!
//! [`SourcePrd::read`] never fails an iteration: where the file is gone, has
//! become something else or too large, it says so, and the prompt does.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use crate::{
    fs::{FileError, Root},
    model::{Plan, Task, TaskId},
    prd::{Document, excerpt},
};

/// The largest PRD that a prompt quotes, in bytes.
const MAX_PRD_BYTES: u64 = 1024 * 1024;
/// How many groups around a task are looked for in the PRD.
const MAX_GROUPS: usize = 16;

/// What a prompt tells of the PRD that the plan was converted from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePrd {
    /// Its path, relative to the project; empty where the agent does not find it there.
    pub path: String,
    /// The sections around the task, Markdown; empty where none fits.
    pub text: String,
    /// What of them did not fit, in a few words; nothing where all did.
    pub left_out: Option<String>,
    /// Why there is nothing to quote, one sentence without a full stop and of Samuel's own
    /// words; nothing where there is.
    pub problem: Option<String>,
    /// Whether somebody should know of the problem: the plan names no file that can be
    /// quoted.
    pub is_unusable: bool,
}

impl SourcePrd {
    /// Reads the sections around a task, or without one those about the whole, as
    /// many as fit into `max_tokens`. Returns nothing for 0, or where the plan was
    /// not made of a PRD.
    ///
    /// The file is read where it lies in the project, up to 1 MiB. Blocks.
    pub fn read(root: &Path, plan: &Plan, task: Option<&TaskId>, max_tokens: u32) -> Option<Self> {
        let path = plan.project.source_prd.clone().filter(|path| !path.is_empty() && max_tokens > 0)?;
        let told = Self { path, ..Self::default() };
        let unusable =
            |problem: String| Some(Self { problem: Some(problem), is_unusable: true, ..told.clone() });
        if let Some(directory) = internal_directory(root, Path::new(&told.path)) {
            return unusable(format!("It is not quoted: it lies in {directory}"));
        }
        let text = match Root::new(root).read_text(Path::new(&told.path), MAX_PRD_BYTES) {
            Ok(text) => text,
            Err(error) if error.is_not_found() => {
                return unusable("The file is not there any more".to_owned());
            }
            Err(error) => return unusable(format!("It cannot be read: {}", why(&error))),
        };
        let max_tokens = usize::try_from(max_tokens).unwrap_or(usize::MAX);
        let tasks = task.map(|id| with_groups(plan, id)).unwrap_or_default();
        let document = Document::new(&told.path, text);
        Some(match excerpt(&document, &tasks, &plan.project.description, max_tokens) {
            Ok(excerpt) => {
                let (text, left_out) = (excerpt.text(), excerpt.left_out());
                let says_nothing = text.is_empty() && left_out.is_none();
                let nothing = || "It says nothing beside its tasks and what stands above".to_owned();
                Self { text, left_out, problem: says_nothing.then(nothing), ..told }
            }
            Err(error) => return unusable(format!("It cannot be read as a PRD: {error}")),
        })
    }

    /// Reads as [`read`](Self::read) does, in the workspace of a turn if it has one. Git may ignore the file, so that
    /// only the project has it: its text is quoted then, and its path is empty. Blocks.
    pub fn find(
        workspace: Option<&Path>,
        root: &Path,
        plan: &Plan,
        task: Option<&TaskId>,
        max_tokens: u32,
    ) -> Option<Self> {
        let Some(workspace) = workspace else { return Self::read(root, plan, task, max_tokens) };
        let in_workspace = Self::read(workspace, plan, task, max_tokens)?;
        if in_workspace.is_unusable
            && let Some(found) = Self::read(root, plan, task, max_tokens).filter(|prd| !prd.is_unusable)
        {
            return Some(Self { path: String::new(), ..found });
        }
        Some(in_workspace)
    }

    /// Returns the path of the PRD that a plan names, unless it leads out of the project or
    /// to what is not the project's: whoever edits the plan could name anything.
    pub fn path_in(root: &Path, plan: &Plan) -> Option<PathBuf> {
        let path = Path::new(plan.project.source_prd.as_deref()?);
        let is_inside =
            path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        (is_inside && internal_directory(root, path).is_none()).then(|| root.join(path))
    }
}

/// The directories that are those of tools: no PRD lies there.
const INTERNAL: [&str; 2] = [".git", ".samuel"];

/// Returns the directory of a tool in which a path of the project lies, itself or by links.
fn internal_directory(root: &Path, path: &Path) -> Option<&'static str> {
    let named_in = |path: &Path| {
        let has = |name: &&str| path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(name));
        INTERNAL.into_iter().find(has)
    };
    let resolved = || {
        let (root, path) = (fs::canonicalize(root).ok()?, fs::canonicalize(root.join(path)).ok()?);
        named_in(path.strip_prefix(root).ok()?)
    };
    named_in(path).or_else(resolved)
}

/// Says why a file is not read, in words that are Samuel's own: names of links are not.
fn why(error: &FileError) -> String {
    match error {
        FileError::Outside { .. } => "a link on the way to it leads out of the project".to_owned(),
        FileError::Elsewhere { .. } => "it is not in the project".to_owned(),
        FileError::NotADirectory { kind, .. } => format!("on the way to it is {kind}, not a directory"),
        error => error.to_string(),
    }
}

/// Returns a task and the groups it is in, from the inside out.
fn with_groups<'p>(plan: &'p Plan, id: &TaskId) -> Vec<&'p Task> {
    let parent = |task: &&'p Task| task.parent_id.as_ref().and_then(|id| plan.task(id));
    std::iter::successors(plan.task(id), parent).take(MAX_GROUPS).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use tempfile::TempDir;

    use super::*;

    fn plan(path: &str) -> Plan {
        let mut plan = Plan::default();
        plan.project.source_prd = Some(path.to_owned());
        plan.tasks.push(Task::new(TaskId::new("1"), "Store"));
        plan
    }

    fn read(directory: &TempDir, path: &str, max_tokens: u32) -> Option<SourcePrd> {
        SourcePrd::read(directory.path(), &plan(path), Some(&TaskId::new("1")), max_tokens)
    }

    fn problem(directory: &TempDir, path: &str) -> String {
        let prd = read(directory, path, 1_000).unwrap();
        assert_eq!((prd.path.as_str(), prd.text.as_str()), (path, ""));
        let problem = prd.problem.unwrap();
        assert_eq!(prd.is_unusable, !problem.starts_with("It says nothing"), "{problem}");
        problem
    }

    const PRD: &str =
        "# Notes\n\n## Goals\n\nFast.\n\n## Risks\n\nMany and large.\n\n## Tasks\n\n- [ ] 1 Store\n";

    #[test]
    fn the_sections_around_the_task_are_read_within_the_budget() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("prd.md"), PRD).unwrap();
        let prd = read(&directory, "prd.md", 1_000).unwrap();
        assert_eq!(prd.text, "## Goals\n\nFast.\n\n## Risks\n\nMany and large.");
        assert_eq!((prd.left_out, prd.problem), (None, None));
        let prd = read(&directory, "prd.md", 5).unwrap();
        assert_eq!(
            (prd.text.as_str(), prd.left_out.as_deref()),
            ("## Goals\n\nFast.", Some("\"Risks\" (lines 7-9)"))
        );
        let prd = read(&directory, "prd.md", 1).unwrap();
        let left_out = Some("\"Goals\" (lines 3-5), \"Risks\" (lines 7-9)");
        assert_eq!((prd.text.as_str(), prd.left_out.as_deref(), prd.problem), ("", left_out, None));
        assert_eq!(read(&directory, "prd.md", 0), None);
    }

    #[test]
    fn a_plan_that_was_not_made_of_a_prd_has_none() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(SourcePrd::read(directory.path(), &Plan::default(), None, 1_000), None);
    }

    #[test]
    fn what_is_not_the_projects_own_is_neither_quoted_nor_named() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for path in [".git/config", ".samuel/run/x", "sub/.GIT/config", "docs/prd.md"] {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), PRD).unwrap();
        }
        std::os::unix::fs::symlink("../.git/config", at("docs/link.md")).unwrap();
        for (path, inside) in [
            (".git/config", ".git"),
            ("docs/../.samuel/run/x", ".samuel"),
            ("sub/.GIT/config", ".git"),
            ("docs/link.md", ".git"),
        ] {
            assert_eq!(problem(&directory, path), format!("It is not quoted: it lies in {inside}"));
            assert_eq!(SourcePrd::path_in(directory.path(), &plan(path)), None, "{path}");
        }
        for path in ["/etc/hosts", "../prd.md"] {
            assert_eq!(SourcePrd::path_in(directory.path(), &plan(path)), None, "{path}");
        }
        let path = SourcePrd::path_in(directory.path(), &plan("docs/prd.md"));
        assert_eq!(path, Some(at("docs/prd.md")));
    }

    #[test]
    fn what_has_become_of_the_file_since_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        assert_eq!(problem(&directory, "prd.md"), "The file is not there any more");
        fs::write(at("latin"), b"# Caf\xe9\n").unwrap();
        assert_eq!(problem(&directory, "latin"), "It cannot be read: it is not UTF-8");
        fs::create_dir(at("dir")).unwrap();
        assert_eq!(problem(&directory, "dir"), "It cannot be read: it is a directory, not a file");
        fs::write(at("large"), "x\n".repeat(1 << 20)).unwrap();
        assert!(problem(&directory, "large").contains("it is larger than 1 MiB"));
        std::os::unix::fs::symlink("/etc/hosts", at("link")).unwrap();
        let link = problem(&directory, "link");
        assert_eq!(link, "It cannot be read: a link on the way to it leads out of the project");
        assert_eq!(problem(&directory, "/etc/hosts"), "It cannot be read: it is not in the project");
        fs::write(at("nul"), "a\0b").unwrap();
        assert!(problem(&directory, "nul").starts_with("It cannot be read as a PRD: "));
        fs::write(at("bare"), "- [ ] 1 Store\n").unwrap();
        assert_eq!(problem(&directory, "bare"), "It says nothing beside its tasks and what stands above");
    }
}
