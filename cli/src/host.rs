//! What the process was started with.
//!
//! [`Host`] is read once, at the start; no other module looks at the
//! environment or the working directory.

use std::{
    ffi::OsString,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    sync::Arc,
};

use samuel_core::{
    clock::SystemClock,
    git::Caller,
    process::{Supervisor, find_program},
    project::{ChangeOrigin, Project, ProjectError, find_root},
    sandbox::{Containers, Guest},
    state::{Actor, Asker},
    trust::TrustStore,
    workspace::project_of,
};

use crate::{args::Global, failure::Failure, terminal::Stream};

/// The option whose value is the digest of what may run.
const TRUST_HASH: &str = "--trust-hash";

/// How long the path of the directory of sockets may be, in bytes: that of a socket in it is 20 longer,
/// and macOS allows 103.
const MAX_SOCKET_DIR: usize = 80;

/// The environment, the working directory and the terminal of the process.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// The environment, as far as it is text.
    pub(crate) env: Vec<(String, String)>,
    /// The working directory, or why it is not known.
    cwd: Result<PathBuf, String>,
    /// This program.
    exe: Option<PathBuf>,
    /// The words of the command line after the program, where all are text.
    words: Option<Vec<String>>,
    /// Whether somebody can answer a question.
    pub(crate) can_ask: bool,
    /// Whether progress can be drawn.
    pub(crate) can_draw: bool,
}

impl Host {
    /// Reads what this process was started with, beside its words.
    pub(crate) fn of_process(words: &[OsString]) -> Self {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let env: Vec<(String, String)> = std::env::vars_os().filter_map(text).collect();
        let on_terminal = Stream::Err.is_terminal();
        let is_dumb = env.iter().any(|(name, value)| name == "TERM" && value == "dumb");
        Self {
            env,
            cwd: std::env::current_dir().map_err(|error| error.to_string()),
            exe: std::env::current_exe().ok(),
            words: words.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect(),
            can_ask: on_terminal && io::stdin().is_terminal(),
            can_draw: on_terminal && Stream::Out.is_terminal() && !is_dumb,
        }
    }

    /// Returns the command line as a shell takes it, as far as it is text, with a digest in place
    /// of the one that was given with `--trust-hash`, if there is one.
    pub(crate) fn command_line(&self, digest: Option<&str>) -> Option<String> {
        let words = self.words.as_ref()?;
        let replaced = |(place, word): (usize, &String)| {
            let before = place.checked_sub(1).filter(|before| !is_value(words, *before));
            let is_digest =
                before.and_then(|before| words.get(before)).is_some_and(|name| name == TRUST_HASH);
            match digest {
                Some(digest) if is_digest => digest.to_owned(),
                Some(digest) if !is_value(words, place) && word.starts_with("--trust-hash=") => {
                    format!("{TRUST_HASH}={digest}")
                }
                _ => word.clone(),
            }
        };
        let words: Vec<String> = words.iter().enumerate().map(replaced).collect();
        quoted(words.iter().map(String::as_str))
    }

    /// Returns the command line of a start as one that asks about what was changed:
    /// with `--accept`, and without what would answer in advance.
    pub(crate) fn command_line_that_asks(&self) -> Option<String> {
        let words = self.words.as_ref()?;
        let answers = |place: usize| {
            let word = words.get(place).map(String::as_str).unwrap_or_default();
            let is_digest = place > 0 && words.get(place - 1).is_some_and(|word| word == TRUST_HASH);
            let is_answer =
                ["--yes", "-y", "--accept", TRUST_HASH].contains(&word) || word.starts_with("--trust-hash=");
            !is_value(words, place) && (is_answer || is_digest)
        };
        let kept = words.iter().enumerate().filter(|(place, _)| !answers(*place));
        quoted(kept.map(|(_, word)| word.as_str()).chain(["--accept"]))
    }

    /// Returns an environment variable that is set and not empty.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        let found = self.env.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns a path as seen from the directory the command works in.
    pub(crate) fn absolute(&self, path: &Path) -> Result<PathBuf, Failure> {
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        let cwd = self.cwd.as_ref().map_err(|reason| {
            let message = format!("the current directory cannot be used: {reason}");
            Failure::usage(message).advise("Change to another directory, or pass -C with an absolute path.")
        })?;
        Ok(if path.as_os_str().is_empty() { cwd.clone() } else { cwd.join(path) })
    }

    /// Opens the project: in the directory that `-C` names, else in that of
    /// the run this command is called from, else around the current one.
    pub(crate) fn project(&self, global: &Global, methodology: Option<&str>) -> Result<Project, Failure> {
        let root = self.root(global)?;
        let project = Project::open_for(self.caller(), root, methodology, Arc::new(SystemClock::new()))?;
        Ok(project.keeping_plans_in(self.state_dir()))
    }

    /// Opens the project as [`project`](Self::project) does, for a command that reads or changes
    /// its plan and needs to know of its methodology no more than the name.
    pub(crate) fn plan_of(&self, global: &Global, methodology: Option<&str>) -> Result<Project, Failure> {
        let root = self.root(global)?;
        let project = Project::open_for_plan(self.caller(), root, methodology, Arc::new(SystemClock::new()))?;
        Ok(project.keeping_plans_in(self.state_dir()))
    }

    /// Opens the project as [`plan_of`](Self::plan_of) does, for a command that reads what happened or speaks with the
    /// loop: also where samuel.toml cannot be used any more.
    pub(crate) fn project_to_look_at(
        &self,
        global: &Global,
        methodology: Option<&str>,
    ) -> Result<Project, Failure> {
        let root = self.root(global)?;
        let project = Project::open_to_look(self.caller(), root, methodology, Arc::new(SystemClock::new()))?;
        Ok(project.keeping_plans_in(self.state_dir()))
    }

    /// Opens the project at a root for a look at what keeps it from running.
    pub(crate) fn project_to_check(&self, root: &Path) -> Result<Project, ProjectError> {
        let project = Project::open_for_checkup(self.caller(), root, Arc::new(SystemClock::new()))?;
        Ok(project.keeping_plans_in(self.state_dir()))
    }

    /// Opens the project to replace its samuel.toml, whatever that holds.
    pub(crate) fn project_to_configure(&self, global: &Global) -> Result<Project, Failure> {
        let root = self.root(global)?;
        let project = Project::open_to_configure(self.caller(), root, Arc::new(SystemClock::new()))?;
        Ok(project.keeping_plans_in(self.state_dir()))
    }

    /// Opens what was trusted before; nothing where no place for it is known.
    pub(crate) fn trust_store(&self) -> Result<Option<TrustStore>, Failure> {
        let Some(dir) = self.trust_dir() else { return Ok(None) };
        Ok(Some(TrustStore::open(&dir)?))
    }

    /// Returns where what was trusted lies, whether anything was or not.
    pub(crate) fn trust_dir(&self) -> Option<PathBuf> {
        Some(self.state_dir()?.join("trust"))
    }

    /// Says whose projects may be looked at: this user's, that of the user who
    /// called `sudo`, and those that the user's own git configuration trusts.
    pub(crate) fn caller(&self) -> Caller {
        let mut caller = Caller::of_process();
        if let Some(uid) = self.var("SUDO_UID").and_then(|uid| uid.parse().ok()) {
            caller = caller.called_by(uid);
        }
        let absolute = |name| self.var(name).map(Path::new).filter(|path| path.is_absolute());
        let global = self.var("GIT_CONFIG_GLOBAL").and_then(|path| self.absolute(Path::new(path)).ok());
        let xdg = absolute("XDG_CONFIG_HOME");
        match (absolute("HOME"), global) {
            (Some(home), Some(global)) => caller.with_global_config(&global, home, xdg),
            (Some(home), None) => caller.with_home(home, xdg),
            (None, _) => caller,
        }
    }

    /// Finds the root of the project that a command works on. A workspace stands for its project.
    pub(crate) fn root(&self, global: &Global) -> Result<PathBuf, Failure> {
        let project_at = |root: PathBuf| project_of(&root).unwrap_or(root);
        if global.directory.is_some() {
            return self.directory(global).map(project_at);
        }
        let of_run = self.var("SAMUEL_PROJECT_ROOT").map(PathBuf::from).filter(|root| root.is_absolute());
        if let Some(root) = of_run.filter(|root| root.is_dir()) {
            return Ok(project_at(root));
        }
        let cwd = self.absolute(Path::new(""))?;
        Ok(find_root(&cwd).unwrap_or(cwd))
    }

    /// Returns the directory a command works in where it needs no project: the one
    /// that `-C` names, else the current one.
    pub(crate) fn directory(&self, global: &Global) -> Result<PathBuf, Failure> {
        let Some(directory) = &global.directory else { return self.absolute(Path::new("")) };
        let directory = self.absolute(directory)?;
        let found = directory.canonicalize().ok().filter(|directory| directory.is_dir());
        found.ok_or_else(|| {
            Failure::usage(format!("{} is not a directory", directory.display()))
                .advise("Pass an existing directory to -C.")
        })
    }

    /// Says from which run the command is called, as far as the caller says so.
    pub(crate) fn origin(&self) -> ChangeOrigin {
        ChangeOrigin::of_env(|name| self.var(name))
    }

    /// Says on whose behalf the command changes tasks.
    pub(crate) fn actor(&self) -> Actor {
        self.origin().actor()
    }

    /// Says who asks for a change, so that `undo` knows which changes are theirs: a
    /// user in a terminal session, or what is called from an agent.
    pub(crate) fn asker(&self) -> Asker {
        let user = rustix::process::getuid().as_raw();
        Asker { actor: self.actor(), name: Some(format!("{user}/{}", session())), worker: None }
    }

    /// Returns where compiled components of plugins are kept: below
    /// `SAMUEL_CACHE_DIR`, else where the user's programs keep such things.
    pub(crate) fn component_cache(&self) -> Option<PathBuf> {
        let own = self.var("SAMUEL_CACHE_DIR").map(PathBuf::from);
        let of_user = || self.var("XDG_CACHE_HOME").map(|dir| Path::new(dir).join("samuel"));
        let of_home = || self.var("HOME").map(|dir| Path::new(dir).join(".cache/samuel"));
        let dir = own.or_else(of_user).or_else(of_home).filter(|dir| dir.is_absolute())?;
        Some(dir.join("components"))
    }

    /// Returns where Samuel keeps what it must be able to rely on, such as the
    /// key of compiled components: `SAMUEL_STATE_DIR`, else where the user's
    /// programs keep such things.
    pub(crate) fn state_dir(&self) -> Option<PathBuf> {
        let own = self.var("SAMUEL_STATE_DIR").map(PathBuf::from);
        let of_user = || self.var("XDG_STATE_HOME").map(|dir| Path::new(dir).join("samuel"));
        let of_home = || self.var("HOME").map(|dir| Path::new(dir).join(".local/state/samuel"));
        own.or_else(of_user).or_else(of_home).filter(|dir| dir.is_absolute())
    }

    /// Returns where a run listens for the hooks of its agent: a directory of the user's own whose
    /// path leaves room for a socket's, which is short.
    pub(crate) fn socket_dir(&self) -> PathBuf {
        let of_login = self.var("XDG_RUNTIME_DIR").map(Path::new).filter(|dir| dir.is_dir());
        let of_login = of_login.map(|dir| dir.join("samuel"));
        let kept = self.state_dir().map(|dir| dir.join("run"));
        let temporary = || format!("/tmp/samuel-{}", rustix::process::getuid().as_raw()).into();
        of_login.into_iter().chain(kept).find(|dir| is_usable(dir)).unwrap_or_else(temporary)
    }

    /// Returns where a run listens whose directory goes with it: below that, where its path leaves room.
    pub(crate) fn socket_dir_in(&self, directory: &Path) -> PathBuf {
        Some(directory.join("run")).filter(|dir| is_usable(dir)).unwrap_or_else(|| self.socket_dir())
    }

    /// Returns where containers come from: the engine that `SAMUEL_RUNTIME` names, else podman or docker, and the guest
    /// that `SAMUEL_GUEST` names, else the one beside this program.
    pub(crate) fn containers(&self) -> Containers {
        let guest = self.guest_beside().unwrap_or_default();
        Containers::of_env(&self.env, guest, self.socket_dir())
    }

    /// Returns the first process of commands under bubblewrap: the guest beside this program, where there is one, else
    /// this program, which is started by what is shown of this machine as well.
    pub(crate) fn guest(&self) -> Result<Guest, Failure> {
        match self.guest_beside().filter(|path| path.is_file()) {
            Some(beside) => Ok(Guest::new(beside, self.socket_dir())),
            None => Ok(Guest::new(self.exe()?, self.socket_dir()).with_arguments([Guest::SUBCOMMAND])),
        }
    }

    fn guest_beside(&self) -> Option<PathBuf> {
        self.exe.as_deref().and_then(Path::parent).map(|dir| dir.join("samuel-guest"))
    }

    /// Returns the command by which an agent's own hooks ask a run.
    pub(crate) fn bridge(&self) -> Result<Vec<String>, Failure> {
        let exe = self.exe()?;
        let exe = exe.to_str().ok_or_else(|| Failure::internal("the path of this program is no text"))?;
        Ok([exe, "hooks", "bridge"].map(str::to_owned).into())
    }

    /// Returns the path of this program.
    pub(crate) fn exe(&self) -> Result<&Path, Failure> {
        self.exe.as_deref().ok_or_else(|| Failure::internal("the path of this program cannot be found out"))
    }

    /// Returns the command by which an agent's shell reaches this program.
    pub(crate) fn command_for_agents(&self) -> Result<String, Failure> {
        let exe = self.exe()?;
        let on_path = find_program("samuel", self.var("PATH").unwrap_or_default(), Path::new("/"));
        if on_path.and_then(|path| path.canonicalize().ok()) == exe.canonicalize().ok() {
            return Ok("samuel".to_owned());
        }
        let path = exe.display().to_string();
        Ok(shlex::try_quote(&path).map(|quoted| quoted.into_owned()).unwrap_or(path))
    }

    /// Returns how the processes of a run are looked after: by this program.
    pub(crate) fn supervisor(&self) -> Result<Supervisor, Failure> {
        Ok(Supervisor::Helper(self.exe()?.to_owned()))
    }
}

/// Returns the terminal session of the process; 0 in a container whose session was
/// opened outside of it, which rustix has no value for.
#[expect(unsafe_code, reason = "`getsid` of rustix panics where the session has no number")]
fn session() -> libc::pid_t {
    // SAFETY: the call takes a number and touches no memory.
    unsafe { libc::getsid(0) }
}

/// Says whether sockets can lie below a directory.
fn is_usable(dir: &Path) -> bool {
    dir.is_absolute() && dir.as_os_str().len() <= MAX_SOCKET_DIR
}

/// Quotes a command line of this program for a shell.
fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    shlex::try_join(std::iter::once("samuel").chain(words)).ok()
}

/// Says of each word whether it is the value of an option that takes any word.
fn is_value(words: &[String], place: usize) -> bool {
    place.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|word| word == "--agent-command")
}
