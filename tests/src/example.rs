//! The example plugins, built as their pages say.
//!
//! [`Example::build`] starts in an empty directory and runs the three commands
//! of the example's `README.md`. Tools come from [`crate::cache`]. What
//! an interpreter is put into is built again only when its sources changed.

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use samuel_core::plugin::{MANIFEST_FILE, Manifest};

use crate::cache;

/// A plugin of `examples/plugins`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Example {
    /// `samuel-python`.
    Rust,
    /// `samuel-changelog`.
    Python,
    /// `samuel-node`.
    JavaScript,
    /// `samuel-lister`, which stands in the agent's place.
    JavaScriptAgent,
}

/// Why an example was not built.
#[derive(Debug)]
pub enum NotBuilt {
    /// What it takes cannot be had here; a sentence for the `skipped:` line.
    Skipped(String),
    /// A command failed: the command and what it printed.
    Failed(String),
}

/// A built plugin.
#[derive(Debug)]
pub struct Built {
    /// Its manifest.
    pub manifest: Manifest,
    /// Its component.
    pub component: Vec<u8>,
}

impl Example {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rust, Self::Python, Self::JavaScript, Self::JavaScriptAgent];

    /// Returns its directory in the repository.
    pub fn source(self) -> PathBuf {
        root().join("examples/plugins").join(self.name())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::JavaScriptAgent => "agent-javascript",
        }
    }

    /// Returns the commands of its page, one a line.
    ///
    /// # Panics
    /// Panics where there is no page, or no commands on it.
    pub fn commands(self) -> Vec<String> {
        let page = fs::read_to_string(self.source().join("README.md")).expect("every example has a page");
        let block = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
        block.expect("every page has commands").lines().map(str::to_owned).collect()
    }

    /// Returns a directory with the modules from npm that it is built with.
    ///
    /// # Errors
    /// Returns why they cannot be had here.
    pub fn npm_tools(self) -> Result<PathBuf, String> {
        npm_tools(&self.source(), "npm install")
    }

    /// Builds it in an empty directory.
    ///
    /// # Errors
    /// Returns [`NotBuilt::Skipped`] where a tool cannot be had, and
    /// [`NotBuilt::Failed`] where a command of the page fails.
    ///
    /// # Panics
    /// Panics where the build directory cannot be written to.
    pub fn build(self, builds: &Path) -> Result<Built, NotBuilt> {
        let directory = builds.join(self.name());
        let output = builds.join(format!("{}-target", self.name()));
        let stamp = builds.join(format!("{}-built-from", self.name()));
        let sources = sources(&self.source()).expect("the example can be read");
        // An interpreter is another component each time, and compiling it takes
        // a minute. Cargo knows by itself what is up to date.
        if self != Self::Rust && fs::read(&stamp).is_ok_and(|built_from| built_from == sources) {
            return Built::read(directory, "an earlier build");
        }
        let _ = fs::remove_file(&stamp);
        empty(&directory).expect("the build directory can be written to");
        let commands = self.commands();
        let [copy, install, build] = commands.as_slice() else {
            return Err(NotBuilt::Failed(format!("{} commands, not 3", commands.len())));
        };
        let path = env::var_os("PATH").unwrap_or_default();
        run(&directory, copy, &path)?;
        let path = match self {
            Self::Rust => {
                // Cargo keeps what it built of the dependencies.
                fs::create_dir_all(&output).expect("the build directory can be written to");
                let target = directory.join("target");
                let _ = fs::remove_dir_all(&target);
                std::os::unix::fs::symlink(&output, target).expect("the directory has no target now");
                add_target(&directory, install, &path)?;
                path
            }
            Self::Python => {
                let tools = python_tools(install).map_err(NotBuilt::Skipped)?;
                let path = before(&tools.join("bin"), &path);
                run(&directory, install, &path)?;
                path
            }
            Self::JavaScript | Self::JavaScriptAgent => {
                let tools = npm_tools(&directory, install).map_err(NotBuilt::Skipped)?;
                let modules = directory.join("node_modules");
                std::os::unix::fs::symlink(tools.join("node_modules"), modules)
                    .expect("the example has no modules of its own");
                path
            }
        };
        run(&directory, build, &path)?;
        let built = Built::read(directory, build)?;
        fs::write(stamp, sources).expect("the build directory can be written to");
        Ok(built)
    }
}

impl Built {
    /// Reads what a command made.
    fn read(directory: PathBuf, build: &str) -> Result<Self, NotBuilt> {
        let text = fs::read_to_string(directory.join(MANIFEST_FILE))
            .map_err(|error| NotBuilt::Failed(format!("{MANIFEST_FILE}: {error}")))?;
        let manifest = Manifest::parse(Path::new(MANIFEST_FILE), &text)
            .map_err(|error| NotBuilt::Failed(format!("{MANIFEST_FILE}: {error:?}")))?;
        let module = manifest.module.clone().unwrap_or_default();
        let component = fs::read(directory.join(&module))
            .map_err(|error| NotBuilt::Failed(format!("{build}\nleft no {module}: {error}")))?;
        Ok(Self { manifest, component })
    }
}

/// Lists the files of an example with what they hold, as one text to compare.
fn sources(directory: &Path) -> io::Result<Vec<u8>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "node_modules" && name != "target" {
            all.extend(sources(&path)?);
        } else if path.is_file() && path.extension().is_none_or(|extension| extension != "wasm") {
            all.extend(name.as_encoded_bytes());
            all.extend(fs::read(&path)?);
        }
    }
    Ok(all)
}

/// The target that components are built for.
pub const TARGET: &str = "wasm32-wasip2";

/// Says whether the toolchain can build for a target.
///
/// # Errors
/// Returns why that cannot be found out.
pub fn target_is_installed(target: &str) -> Result<bool, String> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = sysroot.map_err(|error| format!("rustc cannot be run: {error}"))?;
    let sysroot = String::from_utf8_lossy(&sysroot.stdout);
    Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(target).exists())
}

/// Adds the target where it is missing.
fn add_target(directory: &Path, command: &str, path: &OsString) -> Result<(), NotBuilt> {
    let target = command.rsplit(' ').next().unwrap_or_default();
    if target_is_installed(target).map_err(NotBuilt::Skipped)? {
        return Ok(());
    }
    run(directory, command, path).map_err(|failed| match failed {
        NotBuilt::Failed(said) => {
            NotBuilt::Skipped(format!("{target} cannot be added: {}", last_line(&said)))
        }
        skipped => skipped,
    })
}

/// Returns a virtual environment in which a command has been run, such as that
/// of the example in Python, which installs componentize-py.
///
/// # Errors
/// Returns why it cannot be had here.
pub fn python_tools(install: &str) -> Result<PathBuf, String> {
    let name = install.rsplit(' ').next().unwrap_or_default().replace("==", "@");
    cache::once(&name, |home| {
        cache::run(Command::new("python3").args(["-m", "venv"]).arg(home), "python3 -m venv")?;
        let path = before(&home.join("bin"), &env::var_os("PATH").unwrap_or_default());
        cache::run(Command::new("sh").args(["-c", install]).env("PATH", path), install)
    })
}

/// Returns a directory in which the command has been run for the example's
/// `package.json`. It is hundreds of megabytes, and so not run each time.
fn npm_tools(example: &Path, install: &str) -> Result<PathBuf, String> {
    let package = example.join("package.json");
    let text = fs::read_to_string(&package).map_err(|error| format!("package.json: {error}"))?;
    let version = text.split("jco\": \"").nth(1).and_then(|rest| rest.split('"').next());
    let version = version.ok_or("package.json has no version of jco")?;
    cache::once(&format!("jco@{version}"), |home| {
        fs::copy(&package, home.join("package.json")).map_err(|error| format!("package.json: {error}"))?;
        cache::run(Command::new("npm").args(cache::NPM_INSTALL).current_dir(home), install)
    })
}

/// Runs a line of a page.
fn run(directory: &Path, line: &str, path: &OsString) -> Result<(), NotBuilt> {
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(directory)
        .env("SAMUEL", root())
        .env("PATH", path)
        .env("RUSTUP_AUTO_INSTALL", "0")
        // What the tests are built with is not what a user has.
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("RUSTFLAGS")
        .output()
        .map_err(|error| NotBuilt::Failed(format!("sh cannot be run: {error}")))?;
    let Output { status, stdout, stderr } = output;
    if status.success() {
        return Ok(());
    }
    let said = [stdout, stderr].concat();
    let said = String::from_utf8_lossy(&said);
    match said.lines().find(|line| is_offline(line)) {
        Some(reason) => Err(NotBuilt::Skipped(format!("{line}: {}", reason.trim()))),
        None => Err(NotBuilt::Failed(format!("{line}\n{said}"))),
    }
}

/// Whether a line says that the network cannot be reached.
fn is_offline(line: &str) -> bool {
    ["Could not resolve host", "failed to download", "Could not connect", "spurious network error"]
        .iter()
        .any(|words| line.contains(words))
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or_default()
}

fn before(first: &Path, path: &OsString) -> OsString {
    let mut joined = OsString::from(first);
    joined.push(":");
    joined.push(path);
    joined
}

fn empty(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(directory)
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().expect("the crate is in the repository")
}
