//! What the agent does, in place of a model.

use samuel_core::agent::{Script, ScriptedCall, Step};

/// Returns the recording. The agent forgets the changelog at first; the second
/// call about the task puts that right.
pub(crate) fn script() -> Script {
    let greet = "echo \"Hello, $1!\"\n";
    let greet_world = "echo \"Hello, ${1:-world}!\"\n";
    let readme = "# Greeter\n\n    sh greet.sh Ada\n    sh greet.sh\n";
    Script::default()
        .call(finish(ScriptedCall::for_task("1").say("I write the script.").write("greet.sh", greet)))
        .call(finish(log(ScriptedCall::for_task("1").say("I forgot the changelog."))))
        .call(finish(log(ScriptedCall::for_task("2").say("I add a default.").write("greet.sh", greet_world))))
        .call(finish(log(ScriptedCall::for_task("3").say("I write the README.").write("README.md", readme))))
}

/// Adds a line to the changelog.
fn log(call: ScriptedCall) -> ScriptedCall {
    call.run("echo '- {{task_title}}' >> CHANGELOG.md")
}

/// Commits, and completes the task with that commit.
fn finish(call: ScriptedCall) -> ScriptedCall {
    call.run("git add --all && git commit --quiet --message 'feat: {{task_title}}'")
        .step(Step::Done { task: "{{task_id}}".to_owned(), commit_sha: Some("{{head}}".to_owned()) })
}
