//! A project with a hook file, and runs of it.

use std::{fs, path::Path};

use samuel_core::{
    agent::Script,
    config::ConfigError,
    dialect::HookFiles,
    event::Event,
    hook::points,
    model::payload::Turn,
    testing::{Bench, FakeHandler, Played},
};

/// Where the hook file is.
pub(crate) const FILE: &str = ".samuel/hooks.yml";

/// Reads a hook file of this text.
pub(crate) fn read(text: impl AsRef<[u8]>) -> Result<HookFiles, ConfigError> {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(".samuel")).unwrap();
    fs::write(directory.path().join(FILE), text).unwrap();
    HookFiles::read(directory.path())
}

/// Returns the problems of a hook file, each with its place and what helps.
pub(crate) fn problems(text: &str) -> Vec<String> {
    read(text).unwrap().warnings()
}

/// What came of a run with session hooks.
pub(crate) struct Ran {
    pub(crate) bench: Bench,
    pub(crate) played: Played,
    /// Each prompt, with the turn it was for.
    pub(crate) prompts: Vec<(Turn, String)>,
}

impl Ran {
    /// Returns what hooks wrote to `log.txt`, by lines.
    pub(crate) fn log(&self) -> Vec<String> {
        log(self.bench.path())
    }

    /// Returns all warnings of hooks.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let fired = self.played.events.iter().filter_map(|record| match &record.event {
            Event::HookFired { outcome, .. } => Some(&outcome.warnings),
            _ => None,
        });
        fired.flatten().map(|warning| format!("{} {}", warning.handler, warning.message)).collect()
    }

    /// Says which prompts hold a text, by their number from 1.
    pub(crate) fn told(&self, text: &str) -> Vec<usize> {
        let numbered = self.prompts.iter().zip(1..);
        numbered.filter(|((_, prompt), _)| prompt.contains(text)).map(|(_, number)| number).collect()
    }
}

fn log(root: &Path) -> Vec<String> {
    fs::read_to_string(root.join("log.txt")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Plays a run of two tasks with the hooks of a file below `version: 2`.
pub(crate) async fn run(hooks: &str, script: Script) -> Ran {
    let bench = Bench::builder().task("1", "First").task("2", "Second");
    let bench = bench.file(FILE, format!("version: 2\nhooks:\n{hooks}")).build().unwrap();
    let seen = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let played = bench.play(bench.run(script).hook_files().hook_at("seen", 900, seen.clone())).await.unwrap();
    let prompts = seen.calls().iter().map(|call| (call.header().turn, call.input().prompt.clone())).collect();
    Ran { bench, played, prompts }
}
