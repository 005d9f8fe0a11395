//! Installing the command lines of real agents, once for all tests.
//!
//! `install` fetches a package from npm into [`crate::cache`]. Where
//! npm cannot be reached it says why, and the test is skipped.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::cache;

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

    /// Returns the arguments by which the agent finds a model server, and asks it for a model
    /// where it has to name one.
    pub fn model_args(self, url: &str) -> Vec<String> {
        let model: &[&str] = match self {
            Self::Claude | Self::Copilot => &[],
            Self::Codex => &["-m", "gpt-5"],
            // A named model spares the question which model should be asked.
            Self::Gemini => &["-m", "gemini-2.5-flash"],
        };
        self.server_args(url).into_iter().chain(model.iter().map(|arg| (*arg).to_owned())).collect()
    }

    /// Returns the arguments by which the agent finds a model server, without a model.
    pub fn server_args(self, url: &str) -> Vec<String> {
        if self != Self::Codex {
            return Vec::new();
        }
        let provider = format!(
            "model_providers.scripted={{name=\"scripted\",base_url=\"{url}/v1\",wire_api=\"responses\",env_key=\"OPENAI_API_KEY\",request_max_retries=0,stream_max_retries=0}}"
        );
        ["-c", "model_provider=\"scripted\"", "-c", &provider].map(str::to_owned).to_vec()
    }
}

/// Returns the program of an agent, installing it first where it is missing.
///
/// Returns `None` and prints why the test is skipped where the agent cannot be installed. Gemini CLI and Copilot take
/// seconds to start, so they are used with `SAMUEL_LONG=1` only.
///
/// # Panics
/// Panics where installing it does.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
pub async fn installed(agent: RealAgent) -> Option<PathBuf> {
    if matches!(agent, RealAgent::Gemini | RealAgent::Copilot) && env::var_os("SAMUEL_LONG").is_none() {
        println!("skipped: {} takes seconds to start: see --long", agent.name());
        return None;
    }
    let installed = tokio::task::spawn_blocking(move || install(agent)).await;
    let skipped = |reason: &String| println!("skipped: {reason}");
    installed.expect("installing an agent does not panic").inspect_err(skipped).ok()
}

fn install(agent: RealAgent) -> Result<PathBuf, String> {
    let package = agent.package();
    let home = cache::once(package.rsplit('/').next().unwrap_or(package), |home| {
        cache::run(
            Command::new("npm").args(cache::NPM_INSTALL).arg("--prefix").arg(home).arg(package),
            &format!("npm install {package}"),
        )
    })?;
    let program = home.join("node_modules/.bin").join(agent.name());
    match program.exists() {
        true => Ok(program),
        false => Err(format!("{package} has no program {}", agent.name())),
    }
}
