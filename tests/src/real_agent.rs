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

    /// Returns an environment in which the agent talks to a model server, with
    /// its settings in an empty home.
    ///
    /// # Panics
    /// Panics where the home cannot be written to or there is no `PATH`.
    pub fn env(self, home: &Path, url: &str) -> Vec<(String, String)> {
        let own: Vec<(&str, String)> = match self {
            Self::Claude => vec![
                ("ANTHROPIC_BASE_URL", url.to_owned()),
                ("ANTHROPIC_API_KEY", "sk-scripted".to_owned()),
                ("IS_SANDBOX", "1".to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ("CLAUDE_CODE_MAX_RETRIES", "0".to_owned()),
            ],
            Self::Codex => vec![("OPENAI_API_KEY", "sk-scripted".to_owned())],
            Self::Gemini => {
                // Without a chosen kind of login a base URL stands for a gateway,
                // which an unattended start refuses.
                let settings = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#;
                fs::create_dir(home.join(".gemini")).expect("the home is a fresh directory");
                fs::write(home.join(".gemini/settings.json"), settings)
                    .expect("the home is a fresh directory");
                vec![("GOOGLE_GEMINI_BASE_URL", url.to_owned()), ("GEMINI_API_KEY", "sk-scripted".to_owned())]
            }
            Self::Copilot => vec![
                ("COPILOT_OFFLINE", "true".to_owned()),
                ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
                ("COPILOT_PROVIDER_TYPE", "openai".to_owned()),
                ("COPILOT_PROVIDER_WIRE_API", "responses".to_owned()),
                ("COPILOT_PROVIDER_API_KEY", "sk-scripted".to_owned()),
                ("COPILOT_MODEL", "gpt-5".to_owned()),
            ],
        };
        let path = env::var("PATH").expect("tests run with a PATH");
        let general = [("PATH", path), ("HOME", home.display().to_string())];
        general.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns the arguments by which the agent finds a model server.
    pub fn model_args(self, url: &str) -> Vec<String> {
        let provider = format!(
            "model_providers.scripted={{name=\"scripted\",base_url=\"{url}/v1\",wire_api=\"responses\",env_key=\"OPENAI_API_KEY\",request_max_retries=0,stream_max_retries=0}}"
        );
        let args: &[&str] = match self {
            Self::Claude | Self::Copilot => &[],
            Self::Codex => &["-c", "model_provider=\"scripted\"", "-c", &provider, "-m", "gpt-5"],
            // A named model spares the question which model should be asked.
            Self::Gemini => &["-m", "gemini-2.5-flash"],
        };
        args.iter().map(|arg| (*arg).to_owned()).collect()
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
