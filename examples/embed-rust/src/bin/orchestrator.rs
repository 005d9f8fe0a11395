//! An orchestrator of its own: no loop, and the hooks of the project around what it does.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::fs;

use anyhow::{Result, ensure};
use samuel_core::{
    hook::{Answer, Call, HookFailure, points},
    model::payload::{AbilityBeforeOutput, SessionSource, SessionStopOutput},
    process::Supervisor,
    project::Project,
    script::{CommandLine, HookCommand},
    session::{AbilityEnd, AbilityOutput, AbilityRequest, Session},
    trust::TrustPolicy,
};
use serde_json::{Value, json};

/// Nobody pushes from here.
async fn no_pushes(call: Call<points::AbilityBefore>) -> Result<AbilityBeforeOutput, HookFailure> {
    let is_push = call.input().input.contains("git push");
    Ok(if is_push { Answer::refuse("pushes are the maintainers'") } else { Answer::pass() })
}

/// The work is not done before there are notes.
async fn wants_notes(call: Call<points::SessionStop>) -> Result<SessionStopOutput, HookFailure> {
    let notes = std::path::Path::new(&call.context().base().project.root).join("NOTES.md");
    Ok(if notes.exists() { Answer::pass() } else { Answer::refuse("write NOTES.md first") })
}

#[tokio::main]
async fn main() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let root = directory.path();
    let session = Session::builder(Project::at(root)?)
        .session("orchestrator")
        .hook::<points::AbilityBefore, _>("no-pushes", no_pushes)
        .hook::<points::SessionStop, _>("wants-notes", wants_notes)
        .hook_files()
        .supervisor(Supervisor::GroupOnly)
        .trust(TrustPolicy::TrustAll)
        .open()
        .await?;
    session.start(SessionSource::Startup).await?;
    let feedback = session.submit_prompt("user", "Publish the work").await?;
    ensure!(feedback.blocked.is_none(), "{feedback:?}");

    let push = AbilityRequest::new("Bash", json!({ "command": "git push" }));
    let command = HookCommand::new(CommandLine::Shell("git push".into()), root).env("PATH", "/usr/bin:/bin");
    if let AbilityEnd::Blocked { reason } = session.call_command(push, command).await?.end {
        println!("not pushed: {reason}");
    }

    while let Some(reason) = session.stop("completed", None).await?.blocked {
        println!("not yet: {reason}");
        let write = AbilityRequest::new("Write", json!({ "file_path": "NOTES.md" }));
        let written = session.call_ability(write, async |permitted| {
            let name = permitted.input.get("file_path").and_then(Value::as_str).unwrap_or_default();
            fs::write(root.join(name), "Done.\n")?;
            Ok::<_, std::io::Error>(AbilityOutput::new(()).summary("wrote it").changed_files([name]))
        });
        ensure!(matches!(written.await?.end, AbilityEnd::Returned(())), "it could not be written");
    }
    session.end("completed").await?;
    println!("done");
    Ok(())
}
