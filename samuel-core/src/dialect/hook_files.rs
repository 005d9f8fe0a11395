//! The hook files of a project.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    command::Pinning,
    problems::{problem, unreadable, whole},
    repository::{self, RepositoryHook},
    session::{self, SessionFile, SessionHook},
    surroundings::Surroundings,
    yaml,
};
use crate::{
    clock::{Clock, SystemClock},
    config::{ConfigError, Problem, ProblemKind, Problems},
    environment::{Secrets, is_secret},
    fs::Root,
    git::{Caller, products_below},
    hook::RegistryBuilder,
    process::Supervisor,
    script::{Budget, named::Executed},
    text::counted,
};

/// The places of a file of session hooks, of which a project has one at most.
pub const SESSION_FILES: [&str; 2] = [".samuel/hooks.yml", ".iteratr.hooks.yml"];
/// Names that are nearly right, each with the right one.
const MISNAMED: [(&str, &str); 2] =
    [(".samuel/hooks.yaml", ".samuel/hooks.yml"), (".iteratr.hooks.yaml", ".iteratr.hooks.yml")];
/// Samuel's own directory.
const OWN_DIRECTORY: &str = ".samuel";
/// How many problems are kept of all files together.
const MAX_PROBLEMS: usize = 1_000;
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The hook files of a project, read and not run.
///
/// ```
/// use samuel_core::{HookPoint, dialect::HookFiles, engine::Run, project::Project};
///
/// let directory = tempfile::tempdir()?;
/// let file = directory.path().join(".iteratr.hooks.yml");
/// std::fs::write(file, "version: 1\nhooks:\n  post_iteration:\n    - command: go test ./...\n      pipe_output: true\n")?;
/// assert!(HookFiles::read(directory.path())?.problems().is_empty());
///
/// let run = Run::builder(Project::at(directory.path())?).hook_files();
/// let registry = run.registry()?;
/// let mut handlers = registry.handlers(HookPoint::AfterIteration);
/// assert_eq!(handlers.next().map(|(id, ..)| id), Some("session:post_iteration#1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct HookFiles {
    root: PathBuf,
    /// The files there are, relative to the root.
    paths: Vec<PathBuf>,
    hooks: Vec<Arc<SessionHook>>,
    repository_hooks: Vec<Arc<RepositoryHook>>,
    problems: Vec<Problem>,
    /// How many more problems there are.
    more: usize,
    /// What works, and may not be what was meant.
    remarks: Vec<String>,
    /// What is said of the files that commands start.
    of_files: Vec<String>,
}

/// What the commands of hook files run in.
#[derive(Clone, Debug, Default)]
pub struct HookFileOptions {
    /// Their environment, beside what Samuel adds: the whole one of the caller, with its secrets
    /// ([`HookFiles::secrets`]).
    pub env: Vec<(String, String)>,
    /// The values that files with long output do not have. Default: none.
    pub secrets: Arc<Secrets>,
    /// Who watches over their processes.
    pub supervisor: Supervisor,
    /// A private directory outside of every project (mode 0700), for copies of the project's files
    /// that commands start. Without one, and with one within the project, these are
    /// started where they are, and compared.
    pub state_dir: Option<PathBuf>,
    /// Whose project it is: what its repository ignores and does not track is started as it is
    /// then, as the product of a build is.
    pub caller: Option<Caller>,
    /// Where output goes that is too long to be told, made when it is first needed; it is left out
    /// where absent.
    pub spill: Option<PathBuf>,
    /// What time it is, for handlers that are built in; the system's where absent.
    pub clock: Option<Arc<dyn Clock>>,
}

impl HookFiles {
    /// Reads the hook files of the project at `root`, an absolute directory. A project without any
    /// has no hooks. Starts nothing.
    ///
    /// # Errors
    /// Returns [`ConfigError::Invalid`] at its place for a file of session hooks that cannot be used as
    /// a whole: one that is no YAML, larger than 1 MiB, nested deeper than 32 levels, of an unknown version,
    /// or not a file of the project; and where there are two.
    pub fn read(root: &Path) -> Result<Self, ConfigError> {
        let within = Root::new(root);
        let mut remarks: Vec<String> = MISNAMED
            .iter()
            .filter(|(path, _)| root.join(path).exists())
            .map(|(path, right)| format!("{path}: this file is not read. Rename it to {right}."))
            .collect();
        let (path, session) = session_file(&within, &mut remarks)?.unzip();
        let SessionFile { hooks, mut problems, mut more, mut warnings } = session.unwrap_or_default();
        let repository = repository::read(&within);
        // Those of other files stand in the order of their names.
        problems.sort_by_key(|problem| (problem.location.line, problem.location.column));
        warnings.sort_by_key(|warning| (warning.location.line, warning.location.column));
        problems.extend(repository.problems);
        more += repository.more + problems.len().saturating_sub(MAX_PROBLEMS);
        problems.truncate(MAX_PROBLEMS);
        warnings.extend(repository.warnings);
        remarks.extend(repository.remarks);
        remarks.extend(warnings.iter().take(Problems::MAX).map(told));
        Ok(Self {
            root: root.to_owned(),
            paths: path.into_iter().chain(repository.paths).collect(),
            hooks: hooks.into_iter().map(Arc::new).collect(),
            repository_hooks: repository.hooks.into_iter().map(Arc::new).collect(),
            problems,
            more,
            remarks,
            of_files: Vec::new(),
        })
    }

    /// Returns what is wrong with single entries, which are left out, in the order of the text: at
    /// most 1,000.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns what is wrong with the file that a repository hook's handler would be of, such as `repo:tracker`:
    /// the first problem of it.
    pub(crate) fn problem_of(&self, id: &str) -> Option<&Problem> {
        let path = repository::file_of(id.strip_prefix("repo:")?);
        let found = self.problems.iter().find(|problem| problem.location.file == path);
        found.filter(|_| !self.repository_hooks.iter().any(|hook| hook.entry().file == path))
    }

    /// Lists the files that were read, relative to the project's root.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// Lists the session hooks, type by type, each in the order of its file.
    pub fn hooks(&self) -> impl Iterator<Item = &SessionHook> {
        self.hooks.iter().map(|hook| &**hook)
    }

    /// Lists the repository hooks, in the order of their files' names.
    pub fn repository_hooks(&self) -> impl Iterator<Item = &RepositoryHook> {
        self.repository_hooks.iter().map(|hook| &**hook)
    }

    /// Lists the variables of an environment that look like secrets and that the commands get.
    pub fn secrets<'a>(&self, env: &'a [(String, String)]) -> Vec<&'a str> {
        let mut names: Vec<&str> =
            env.iter().map(|(name, _)| name.as_str()).filter(|name| is_secret(name)).collect();
        names.sort_unstable();
        names.dedup();
        if self.has_hooks() { names } else { Vec::new() }
    }

    /// Says in one line each what a start warns of: entries that are left out, and once they are
    /// [registered](Self::register) what to know of the files that the others start; with their places.
    pub fn warnings(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.problems.iter().take(Problems::MAX).map(told).collect();
        match (self.problems.len() + self.more).saturating_sub(Problems::MAX) {
            0 => {}
            more => lines.push(format!("{} more in the hook files", counted(more, "problem"))),
        }
        lines.extend(self.remarks());
        lines
    }

    /// Says in one line each what works, and may not be what was meant, and once they are
    /// [registered](Self::register) what to know of the files that the hooks start.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.iter().chain(&self.of_files).cloned().collect()
    }

    /// Returns those of the remarks that are about the files that the hooks start.
    pub(crate) fn of_files(&self) -> &[String] {
        &self.of_files
    }

    /// Registers a handler for each hook, as `session:<type>#<n>`, where `n` counts the entries of the
    /// type from 1, those that are left out too, so that an id stays with its entry; and as `repo:<id>`.
    /// [`RunBuilder::hook_files`](crate::engine::RunBuilder::hook_files) does it for a run.
    /// The files of the project that commands start are read now, and are what will start; nothing
    /// is written before. Blocks.
    pub fn register(&mut self, registry: &mut RegistryBuilder, options: HookFileOptions) {
        self.of_files.clear();
        if !self.has_hooks() {
            return;
        }
        let HookFileOptions { env, secrets, supervisor, state_dir, caller, spill, clock } = options;
        let root = self.root.clone();
        // Within the project a copy would be one of its files.
        let state_dir = state_dir.filter(|state_dir| !is_within(state_dir, &root));
        for hook in &mut self.repository_hooks {
            *hook = Arc::new(hook.toggled(&env));
        }
        let of_session: Vec<_> = self.hooks.iter().map(|hook| hook.executed(&root)).collect();
        let of_repository: Vec<_> = self.repository_hooks.iter().map(|hook| hook.executed(&root)).collect();
        let commands = of_session.iter().chain(of_repository.iter().flatten());
        let products = products(&root, caller.as_ref(), commands.map(|command| &command.executed));
        let pinning = Pinning {
            root: &root,
            state_dir: state_dir.as_deref(),
            budget: &Budget::default(),
            is_exempt: &|path: &Path| products.contains(path),
        };
        let around = Arc::new(Surroundings { project_root: root.clone(), env, secrets, supervisor, spill });
        for (hook, command) in self.hooks.iter_mut().zip(of_session) {
            *hook = Arc::new(hook.pinned(command, &pinning));
            self.of_files.extend(hook.remarks());
            session::register(hook, &around, registry);
        }
        let clock = clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        for (hook, command) in self.repository_hooks.iter_mut().zip(of_repository) {
            if let Some(command) = command {
                *hook = Arc::new(hook.pinned(command, &pinning));
            }
            self.of_files.extend(hook.remarks());
            repository::register(hook, &around, &clock, registry);
        }
    }

    fn has_hooks(&self) -> bool {
        !self.hooks.is_empty() || !self.repository_hooks.is_empty()
    }
}

/// Reads the file of session hooks, if there is one.
fn session_file(
    within: &Root,
    remarks: &mut Vec<String>,
) -> Result<Option<(PathBuf, SessionFile)>, ConfigError> {
    let mut found: Option<(PathBuf, String)> = None;
    for path in SESSION_FILES.map(PathBuf::from) {
        let text = match within.read_text(&path, MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.is_not_found() => {
                if within.path().join(&path).is_symlink() {
                    let path = path.display();
                    remarks.push(format!("{path}: this link leads to nothing. Correct or remove it."));
                }
                continue;
            }
            Err(error) => return Err(refuse(unreadable(&path, &error))),
        };
        if let Some((first, _)) = &found {
            return Err(refuse(two(first, &path)));
        }
        found = Some((path, text));
    }
    let Some((path, text)) = found else { return Ok(None) };
    let document = yaml::parse(&text).map_err(|error| {
        let (what, help) = (error.message, error.help.into());
        refuse(problem(&path, (error.line, error.column), "", ProblemKind::Specific { what, help }))
    })?;
    let file = session::read(within, &path, &document)
        .map_err(|problems| ConfigError::Invalid(Problems::of(problems)))?;
    Ok(Some((path, file)))
}

/// Returns what commands execute, or will one day, that the project's repository ignores and does
/// not track: files and patterns.
fn products<'a>(
    root: &Path,
    caller: Option<&Caller>,
    commands: impl Iterator<Item = &'a Executed> + Clone,
) -> BTreeSet<PathBuf> {
    let patterns = commands.clone().flat_map(|executed| &executed.patterns).map(|path| root.join(path));
    // What stands beside the plan is watched, as for checks.
    let own = root.join(OWN_DIRECTORY);
    let paths = commands.flat_map(Executed::paths).cloned().chain(patterns);
    let paths = paths.filter(|path| !path.starts_with(&own));
    caller.map(|caller| products_below(root, caller, paths)).unwrap_or_default()
}

/// Says whether a directory lies within another, also where it is still to be made.
fn is_within(directory: &Path, root: &Path) -> bool {
    let found = directory.ancestors().find_map(|directory| directory.canonicalize().ok());
    found.zip(root.canonicalize().ok()).is_some_and(|(found, root)| found.starts_with(root))
}

/// Says a problem in one line, with its place and what to do.
fn told(problem: &Problem) -> String {
    format!("{}{problem}. {}", problem.place(), problem.help().prose())
}

fn refuse(problem: Problem) -> ConfigError {
    ConfigError::Invalid(Problems::of(vec![problem]))
}

fn two(first: &Path, second: &Path) -> Problem {
    let what = format!("there is \"{}\" too, and a project has one file of session hooks", first.display());
    whole(second, what, "Put the hooks of both into one, and remove the other.")
}
