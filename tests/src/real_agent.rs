//! Installing the command lines of real agents, once for all tests.
//!
//! [`install`] fetches a package from npm into a cache outside the repository:
//! `$SAMUEL_TEST_CACHE`, else `/var/cache/samuel-tests`, else
//! `target/samuel-tests`. A lock lets several test processes share it. Where npm
//! cannot be reached it says why, and the test is skipped.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The agents that npm has, each in the version the adapters were checked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealAgent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// GitHub Copilot CLI.
    Copilot,
}

impl RealAgent {
    /// Returns the package with its version.
    fn package(self) -> &'static str {
        match self {
            Self::Claude => "@anthropic-ai/claude-code@2.1.330",
            Self::Codex => "@openai/codex@0.169.0",
            Self::Gemini => "@google/gemini-cli@0.61.0",
            Self::Copilot => "@github/copilot@1.0.102",
        }
    }

    /// Returns the name of the adapter, which is that of the program too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
        }
    }
}

/// Returns the program of an agent, installing it first where it is missing.
///
/// # Errors
/// Returns why it cannot be had, as a sentence for the `skipped:` line of a test.
pub fn install(agent: RealAgent) -> Result<PathBuf, String> {
    let cache = cache_directory().map_err(|error| format!("no cache directory: {error}"))?;
    let package = agent.package();
    let home = cache.join(package.rsplit('/').next().unwrap_or(package));
    let program = home.join("node_modules/.bin").join(agent.name());
    let lock = File::create(cache.join("lock")).map_err(|error| format!("no lock in the cache: {error}"))?;
    lock.lock().map_err(|error| format!("the lock of the cache: {error}"))?;
    if home.join("complete").exists() && program.exists() {
        return Ok(program);
    }
    // What an interrupted installation left is of no use.
    let _ = fs::remove_dir_all(&home);
    npm_install(package, &home)?;
    File::create(home.join("complete")).map_err(|error| format!("the cache: {error}"))?;
    match program.exists() {
        true => Ok(program),
        false => Err(format!("{package} has no program {}", agent.name())),
    }
}

fn npm_install(package: &str, home: &Path) -> Result<(), String> {
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries", "1"])
        .arg("--prefix")
        .arg(home)
        .arg(package)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let reason =
        errors.lines().find(|line| line.contains("error") || line.contains("ERR")).unwrap_or("no reason");
    Err(format!("npm cannot install {package}: {reason}"))
}

/// Returns the first directory that can be written to.
fn cache_directory() -> io::Result<PathBuf> {
    let named = env::var_os("SAMUEL_TEST_CACHE").map(PathBuf::from);
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/samuel-tests");
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for directory in named.into_iter().chain(["/var/cache/samuel-tests".into(), build]) {
        match fs::create_dir_all(&directory).and_then(|()| File::create(directory.join("lock"))) {
            Ok(_) => return directory.canonicalize(),
            Err(error) => last = error,
        }
    }
    Err(last)
}
