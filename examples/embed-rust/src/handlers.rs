//! The program's own handlers.

use std::{fs, path::Path};

use samuel_core::{
    hook::{Answer, Call, HookFailure, points},
    model::payload::{CheckFailure, ContextExtraOutput, Extra, QualityCheckOutput},
};

/// Adds a section to every prompt. A handler is any async function or closure
/// that takes its point's call and returns its point's output.
pub(crate) async fn glossary(call: Call<points::ContextExtra>) -> Result<ContextExtraOutput, HookFailure> {
    let task = call.input().task.as_ref().map_or("none", |task| task.title.as_str());
    // Templates and later handlers see this as `.Plugins.api.current`.
    call.contribute("current", task)?;
    let section = Extra {
        name: "Glossary".to_owned(),
        content: "A greeting ends with an exclamation mark.".to_owned(),
        path: None,
    };
    Ok(ContextExtraOutput { extras: vec![section], ..Default::default() })
}

/// Demands a line in CHANGELOG.md for every completed task. A check that fails
/// takes back what the agent called done, and its words reach the next prompt.
///
/// It reads a file, so it is registered as a blocking handler.
pub(crate) fn changelog_is_kept(
    root: &Path,
) -> impl Fn(&Call<points::QualityCheck>) -> Result<QualityCheckOutput, HookFailure> + Send + Sync + 'static {
    let path = root.join("CHANGELOG.md");
    move |call| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("- ")).count();
        // The context is that of the iteration's start: one task more is due.
        let tasks = call.context().base().state.completed_tasks + 1;
        if lines as u64 >= tasks {
            return Ok(QualityCheckOutput::pass());
        }
        let failure = CheckFailure {
            command: "changelog".to_owned(),
            message: format!("CHANGELOG.md has {lines} entries for {tasks} tasks"),
            exit_code: None,
            tail: text,
            log: None,
        };
        Ok(QualityCheckOutput { failures: vec![failure], ..QualityCheckOutput::refuse("no changelog") })
    }
}
