//! Where the files of a run are.
//!
//! [`RunDir`] knows every path below `.samuel/run/` (ARCHITECTURE.md, State)
//! and touches none of them, but for [`RunDir::create`].

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use super::{KeptPlans, StateError, unversioned::ignore_all};
use samuel_fs::{PRIVATE_DIRECTORY, PROJECT_DIRECTORY, Root};

/// How much of a plan is read for the methodology that it names.
const MAX_HEAD_BYTES: u64 = 1 << 20;

/// The directory that holds the state of a methodology's runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunDir {
    path: PathBuf,
    /// What no path of it leads out of.
    root: Root,
    /// The worker that uses it; `None` for the run and its merge queue.
    worker: Option<u32>,
}

impl RunDir {
    /// Names the first run directory of a project, `.samuel/run` below its root. It is that
    /// of the methodology which its plan names; [`RunDir::of_plan`] finds that of any.
    pub fn new(project_root: impl AsRef<Path>) -> Self {
        let root = Root::new(project_root.as_ref());
        Self { path: all_runs(&root), root, worker: None }
    }

    /// Names the own run directory of a methodology, `.samuel/run/<methodology>` below the
    /// project's root, which it has where `.samuel/run` is another one's.
    ///
    /// The name must have been checked (`[a-z0-9-]+`); it becomes a part of
    /// the path as it is.
    pub fn for_methodology(project_root: impl AsRef<Path>, methodology: &str) -> Self {
        let all = Self::new(project_root);
        Self { path: all.path.join(methodology), ..all }
    }

    /// Finds the run directory of a methodology: `.samuel/run` where the plan there names it,
    /// or names none and the methodology is the default one, or where there is no plan yet;
    /// else its own. A plan in its own directory comes before one that names none, and before
    /// none.
    ///
    /// Where the plan in `.samuel/run` is gone, the directory stays that of the methodology
    /// which the last plan of it names that is kept below `state_dir`. Where none does, it is
    /// the default one's as long as there is a journal.
    ///
    /// Reads no more than the beginning of a plan, and writes nothing. A plan that cannot be
    /// read names none.
    pub fn of_plan(
        project_root: impl AsRef<Path>,
        methodology: &str,
        is_default: bool,
        state_dir: Option<&Path>,
    ) -> Self {
        let first = Self::new(&project_root);
        let own = Self::for_methodology(&project_root, methodology);
        let is_there = first.has_plan();
        let kept = || KeptPlans::of(state_dir?, &first).methodology();
        let named = if is_there { first.named_methodology() } else { kept() };
        let is_first = match named {
            Some(named) => named == methodology && (is_there || !own.has_plan()),
            None => !own.has_plan() && (is_default || !(is_there || first.has_journal())),
        };
        if is_first { first } else { own }
    }

    /// Returns whether the directory has a plan. Also returns `true` if that cannot be read, and `false` if the directory
    /// is a file.
    #[doc(hidden)]
    pub fn has_plan(&self) -> bool {
        self.may_have(&self.prd())
    }

    fn has_journal(&self) -> bool {
        self.may_have(&self.journal()) || self.may_have(&self.old_journal())
    }

    fn may_have(&self, path: &Path) -> bool {
        self.root.has(path).unwrap_or_else(|error| error.kind() != io::ErrorKind::NotADirectory)
    }

    /// Returns the methodology that `prd.toon` names, or `None` if the file is missing, cannot be read that far or names
    /// none.
    #[doc(hidden)]
    pub fn named_methodology(&self) -> Option<String> {
        named_in(self.root.open(&self.prd()).ok()?)
    }

    /// Takes a directory as it is, wherever it lies. Links in it may lead
    /// nowhere else.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { root: Root::new(&path), path, worker: None }
    }

    /// Returns the directory at the same path below another root, such as that of a workspace. For a directory that the
    /// caller chose, returns the first run directory there.
    #[doc(hidden)]
    pub fn within(&self, root: &Path) -> Self {
        match self.path.strip_prefix(self.root.path()) {
            Ok(below) if !below.as_os_str().is_empty() => {
                Self { path: root.join(below), root: Root::new(root), worker: self.worker }
            }
            _ => Self::new(root),
        }
    }

    /// Returns the directory as a worker uses it. All workers share its files, except the logs of checks outside of
    /// iterations.
    #[doc(hidden)]
    #[must_use]
    pub fn of_worker(self, worker: u32) -> Self {
        Self { worker: Some(worker), ..self }
    }

    /// Returns the directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory that nothing in it leads out of: the project.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Returns the plan, `prd.toon`.
    pub fn prd(&self) -> PathBuf {
        self.path.join("prd.toon")
    }

    /// Returns the path of a generated file.
    pub fn artifact(&self, artifact: Artifact) -> PathBuf {
        self.path.join(artifact.file_name())
    }

    /// Returns the log of what happened, `progress.md`.
    pub fn progress(&self) -> PathBuf {
        self.path.join("progress.md")
    }

    /// Returns where old lines of the log go, `progress-archive.md`.
    pub fn progress_archive(&self) -> PathBuf {
        self.path.join("progress-archive.md")
    }

    /// Returns the journal, `journal.jsonl`.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    /// Returns the journal before the last rotation, `journal.1.jsonl`.
    pub fn old_journal(&self) -> PathBuf {
        self.path.join("journal.1.jsonl")
    }

    /// Returns the lock a loop holds as long as it runs, `loop.lock`. It is one
    /// for the whole work tree, whatever methodologies there are.
    pub fn loop_lock(&self) -> PathBuf {
        let directory = if self.root.path() == self.path { self.path.clone() } else { all_runs(&self.root) };
        directory.join("loop.lock")
    }

    /// Returns the lock every writer holds for a moment, `lock`.
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Returns the log of the hooks that were called, `hooks.jsonl`.
    pub fn hook_log(&self) -> PathBuf {
        self.path.join("hooks.jsonl")
    }

    /// Returns that log before its last rotation, `hooks.1.jsonl`.
    pub fn old_hook_log(&self) -> PathBuf {
        self.path.join("hooks.1.jsonl")
    }

    /// Returns the directory of snapshot data by blob id, `cache`.
    pub fn cache(&self) -> PathBuf {
        self.path.join("cache")
    }

    /// Returns the directory of what agents printed, `logs`.
    pub fn all_logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// Returns the directory of a run's agent output, `logs/<run>`.
    pub fn logs(&self, run_id: &str) -> PathBuf {
        self.all_logs().join(run_id)
    }

    /// Returns the two files of one agent call, standard output and error:
    /// `logs/<run>/<iteration>-<attempt>.{out,err}`, both counted from 1.
    pub fn agent_logs(&self, run_id: &str, iteration: u32, attempt: u32) -> (PathBuf, PathBuf) {
        let file = |end: &str| self.logs(run_id).join(format!("{iteration}-{attempt}.{end}"));
        (file("out"), file("err"))
    }

    /// Returns the file that keeps the prompt of an agent call:
    /// `logs/<run>/<iteration>-<attempt>.prompt`.
    pub fn prompt_log(&self, run_id: &str, iteration: u32, attempt: u32) -> PathBuf {
        self.logs(run_id).join(format!("{iteration}-{attempt}.prompt"))
    }

    /// Returns the file that keeps all that a quality check printed:
    /// `logs/<run>/<iteration>-check-<n>.out`, checks counted from 1. A check outside of
    /// iterations has the iteration 0, and that of a worker the name `0-w<worker>-check-<n>.out`.
    pub fn check_log(&self, run_id: &str, iteration: u32, check: u32) -> PathBuf {
        // No two workers use the same number for an iteration.
        let worker = self.worker.filter(|_| iteration == 0);
        let worker = worker.map(|worker| format!("w{worker}-")).unwrap_or_default();
        self.logs(run_id).join(format!("{iteration}-{worker}check-{check}.out"))
    }

    /// Returns the directory of what plugins keep, `plugins`.
    pub fn plugins(&self) -> PathBuf {
        self.path.join("plugins")
    }

    /// Returns a plugin's own directory, `plugins/<name>`.
    pub fn plugin(&self, name: &str) -> PathBuf {
        self.plugins().join(name)
    }

    /// Creates the directory, and those above it, where they are missing.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if the file system refuses.
    pub fn create(&self) -> Result<(), StateError> {
        let created = match self.root.path() == self.path {
            // A directory that the caller chose lies anywhere.
            true => fs::create_dir_all(&self.path).map_err(Into::into),
            false => self.root.create_directory(&self.path, PROJECT_DIRECTORY),
        };
        created.map_err(StateError::file("create", &self.path))
    }

    /// Writes a `.gitignore` that keeps the files of the directory out of git. An existing one stays as it is.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if the file system refuses.
    pub fn ignore(&self) -> Result<(), StateError> {
        ignore_all(&self.root, &self.path)
    }

    /// Creates a directory that existed before. If a file has replaced the directory, or one above it, the file is
    /// renamed, and a warning is added.
    pub(crate) fn create_again(&self, warnings: &mut Vec<String>) -> Result<(), StateError> {
        let within = |path: &&Path| path.starts_with(self.root.path()) && *path != self.root.path();
        let mut places: Vec<&Path> = self.path.ancestors().take_while(within).collect();
        places.reverse();
        for place in places {
            let aside = self.root.clear_for_directory(place);
            let aside = aside.map_err(StateError::file("make room for", place))?;
            warnings.extend(aside.map(|aside| moved_aside(place, &aside)));
        }
        self.create()
    }

    /// Creates the directory of snapshot data with mode 0700, and returns its path.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if the directory lies outside of the project or cannot be created.
    #[doc(hidden)]
    pub fn make_cache(&self) -> Result<PathBuf, StateError> {
        self.make_private(self.cache())
    }

    /// Creates the directory of the logs of a run with mode 0700, and returns its path.
    ///
    /// # Errors
    /// Returns the errors of [`make_cache`](Self::make_cache).
    #[doc(hidden)]
    pub fn make_logs(&self, run_id: &str) -> Result<PathBuf, StateError> {
        self.make_private(self.logs(run_id))
    }

    fn make_private(&self, directory: PathBuf) -> Result<PathBuf, StateError> {
        let made = self.root.create_directory(&directory, PRIVATE_DIRECTORY);
        made.map_err(StateError::file("create", &directory)).map(|()| directory)
    }

    /// Makes sure that nothing that a run reads and writes here is reached by a
    /// link that leads out of the project.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] with the first such link.
    pub fn check(&self) -> Result<(), StateError> {
        let own = [
            self.lock(),
            self.loop_lock(),
            self.prd(),
            self.journal(),
            self.old_journal(),
            self.progress(),
            self.progress_archive(),
            self.hook_log(),
            self.old_hook_log(),
            self.cache(),
            self.all_logs(),
            self.plugins(),
        ];
        let artifacts = Artifact::ALL.iter().map(|artifact| self.artifact(*artifact));
        own.into_iter()
            .chain(artifacts)
            .try_for_each(|path| self.root.check_inside(&path).map_err(StateError::file("use", &path)))
    }
}

/// Returns the warning about something that was renamed because Samuel could not use it as its file or directory.
pub(super) fn moved_aside(place: &Path, aside: &Path) -> String {
    format!("{} could not be used and was moved to {}", place.display(), aside.display())
}

/// Returns the methodology that a plan names, if it can be read so far.
pub(super) fn named_in(plan: impl io::Read) -> Option<String> {
    let lines = BufReader::new(plan.take(MAX_HEAD_BYTES)).lines().map_while(Result::ok);
    let block = lines.skip_while(|line| line.trim_end() != "project:").skip(1);
    let named = block.take_while(|line| line.starts_with(' '));
    let value = named.filter_map(|line| Some(line.trim().strip_prefix("methodology:")?.trim().to_owned()));
    let value = value.last()?;
    let name = value.trim_matches('"');
    (!name.is_empty() && name != "null").then(|| name.to_owned())
}

/// Returns the directory that the run directories of a project are in.
fn all_runs(root: &Root) -> PathBuf {
    root.path().join(".samuel").join("run")
}

/// A file that is generated anew in each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Artifact {
    /// The current task, or in discovery the list of tasks.
    TaskContext,
    /// What the project consists of.
    ProjectSnapshot,
    /// What earlier iterations did and learned.
    ProgressContext,
}

impl Artifact {
    /// Every artifact.
    pub const ALL: &[Artifact] = &[Self::TaskContext, Self::ProjectSnapshot, Self::ProgressContext];

    /// Returns the name of the file in the run directory.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::TaskContext => "task-context.toon",
            Self::ProjectSnapshot => "project-snapshot.toon",
            Self::ProgressContext => "progress-context.md",
        }
    }

    /// Says whether the file is TOON and opens with the version header.
    pub fn is_toon(self) -> bool {
        self.file_name().ends_with(".toon")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn a_methodology_among_several_has_a_directory_of_its_own() {
        assert_eq!(RunDir::new("/p").prd(), Path::new("/p/.samuel/run/prd.toon"));
        let tdd = RunDir::for_methodology("/p", "tdd-strict");
        assert_eq!(tdd.prd(), Path::new("/p/.samuel/run/tdd-strict/prd.toon"));
    }

    #[test]
    fn a_plan_is_where_its_methodology_is_named_and_else_in_a_directory_of_its_own() {
        let made = tempfile::tempdir().unwrap();
        let root = made.path();
        let (first, own) = (RunDir::new(root), RunDir::for_methodology(root, "tdd"));
        let of = |name, is_default| RunDir::of_plan(root, name, is_default, None);
        // Without any plan the first that is made takes the first directory.
        assert_eq!((of("ralph", true), of("tdd", false)), (first.clone(), first.clone()));
        let write = |dir: &RunDir, text: &str| {
            dir.create().unwrap();
            fs::write(dir.prd(), text).unwrap();
        };
        // A plan that names none is the default one's.
        write(&first, "# toon v3\nproject:\n  name: a\n");
        assert_eq!((of("ralph", true), of("tdd", false)), (first.clone(), own.clone()));
        // One that names its methodology is that one's, whatever the default is.
        write(&first, "project:\n  name: a\n  methodology: tdd\ntasks[0]:\n");
        assert_eq!(of("tdd", false), first);
        assert_eq!(of("ralph", true), RunDir::for_methodology(root, "ralph"));
        // What only a later block says does not count.
        write(&first, "project:\n  name: a\nprogress:\n  methodology: tdd\n");
        assert_eq!(of("tdd", false), own);
        // A plan in a directory of its own is found again, beside one that names none, or none.
        let ralph = RunDir::for_methodology(root, "ralph");
        write(&ralph, "project:\n  name: a\n");
        assert_eq!(of("ralph", true), ralph);
        fs::remove_file(first.prd()).unwrap();
        assert_eq!((of("ralph", true), of("tdd", false)), (ralph, first));
    }

    #[test]
    fn the_first_directory_stays_that_of_a_plan_which_is_lost() {
        let made = tempfile::tempdir().unwrap();
        let (root, state) = (made.path().join("p"), made.path().join("state"));
        fs::create_dir(&root).unwrap();
        let (first, own) = (RunDir::new(&root), RunDir::for_methodology(&root, "tdd"));
        first.create().unwrap();
        fs::write(first.journal(), "").unwrap();
        let of = |name, is_default| RunDir::of_plan(&root, name, is_default, Some(&state));
        assert_eq!((of("ralph", true), of("tdd", false)), (first.clone(), own));
        // What is kept outside of the work tree says whose it was.
        let kept = KeptPlans::of(&state, &first);
        kept.make_dir().unwrap();
        fs::write(kept.path(1), "project:\n  name: a\n  methodology: tdd\n").unwrap();
        for _ in 0..2 {
            assert_eq!(of("tdd", false), first);
            assert_eq!(of("ralph", true), RunDir::for_methodology(&root, "ralph"));
            // Also where the work tree has nothing any more.
            let _ = fs::remove_file(first.journal());
        }
    }

    #[test]
    fn names_the_same_directory_below_another_root() {
        let tdd = RunDir::for_methodology("/p", "tdd").within(Path::new("/w"));
        assert_eq!(tdd, RunDir::for_methodology("/w", "tdd"));
        assert_eq!(RunDir::at("/chosen").within(Path::new("/w")), RunDir::new("/w"));
    }

    #[test]
    fn a_file_in_place_of_a_directory_is_no_plan() {
        let made = tempfile::tempdir().unwrap();
        let first = RunDir::new(made.path());
        first.create().unwrap();
        fs::write(first.path().join("tdd"), "").unwrap();
        assert!(!RunDir::for_methodology(made.path(), "tdd").has_plan());
        assert_eq!(RunDir::of_plan(made.path(), "tdd", false, None), first);
    }

    #[test]
    fn agent_output_is_kept_by_run_iteration_and_attempt() {
        let (out, err) = RunDir::at("/r").agent_logs("run-1", 3, 2);
        assert_eq!(out, Path::new("/r/logs/run-1/3-2.out"));
        assert_eq!(err, Path::new("/r/logs/run-1/3-2.err"));
        let check = RunDir::at("/r").check_log("run-1", 3, 2);
        assert_eq!(check, Path::new("/r/logs/run-1/3-check-2.out"));
    }

    #[test]
    fn checks_of_worker_and_queue_keep_their_logs() {
        let queue = RunDir::at("/r");
        let worker = |number| RunDir::at("/r").of_worker(number);
        let outside = [queue.clone(), worker(1), worker(3)].map(|dir| dir.check_log("run-1", 0, 1));
        let expected = ["0-check-1.out", "0-w1-check-1.out", "0-w3-check-1.out"];
        assert_eq!(outside, expected.map(|name| queue.logs("run-1").join(name)));
        // Iterations of workers have numbers of their own.
        assert_eq!(worker(3).check_log("run-1", 4, 2), queue.check_log("run-1", 4, 2));
    }

    #[test]
    fn a_project_that_is_moved_gets_no_directory_in_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        fs::create_dir(&project).unwrap();
        let run_dir = RunDir::new(&project);
        run_dir.create().unwrap();
        fs::rename(&project, dir.path().join("moved")).unwrap();
        let error = run_dir.create_again(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("project"), "{error}");
        assert!(!project.exists());
    }
}
