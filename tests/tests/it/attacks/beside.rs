//! What commands do beside a loop that runs.

use std::{
    fs,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::attacks::kit::{Target, kill_group, ran, wait_for};

/// An agent that says when it is at work, and completes its task once it may.
const AGENT: &str = "cat >/dev/null\ntouch up\nwhile [ ! -e go ]; do sleep 0.05; done\n\
                     \"$SAMUEL_BINARY\" run done 1\n";

const START: [&str; 7] = ["run", "start", "--yes", "--agent", "command", "--agent-command", "sh agent.sh"];

/// A loop at work, which is ended with the test.
struct Loop(Child);

impl Loop {
    fn of(target: &Target) -> Self {
        target.write("agent.sh", AGENT);
        let mut command = target.samuel(&START);
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let running = Self(command.spawn().unwrap());
        wait_for("the agent to come up", || target.path("up").exists());
        running
    }

    /// Lets the agent complete its task, and returns how the loop ends.
    fn ends(mut self, target: &Target) -> Option<i32> {
        fs::write(target.path("go"), "").unwrap();
        let mut code = None;
        wait_for("the loop to end", || {
            code = self.0.try_wait().unwrap();
            code.is_some()
        });
        code.and_then(|status| status.code())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        kill_group(&self.0);
        // It has been waited for where it ended by itself.
        let _ = self.0.wait();
    }
}

#[test]
fn no_plan_is_replaced_under_a_loop() {
    let target = Target::with_tasks(&["The first"]);
    let running = Loop::of(&target);
    target.write("other.md", "# Other\n\n## Tasks\n\n- [x] 1 The first\n- [x] 2 Another\n");
    let before = fs::read(target.path(".samuel/run/prd.toon")).unwrap();
    for args in [
        &["run", "convert", "other.md", "--force"][..],
        &["run", "init", "--force", "--prd", "other.md"],
        &["run", "init", "--force"],
    ] {
        let ran = target.run(args);
        assert_eq!(ran.code, Some(75), "{args:?}: {}", ran.text());
        assert_eq!(fs::read(target.path(".samuel/run/prd.toon")).unwrap(), before, "{args:?}");
    }
    assert_eq!(running.ends(&target), Some(0));
    assert_eq!(target.run(&["run", "convert", "other.md", "--force"]).code, Some(0));
}

#[test]
fn a_start_in_a_copy_of_a_project_works_there_and_leaves_the_original_alone() {
    let target = Target::with_tasks(&["The first"]);
    let running = Loop::of(&target);
    let copy = Target::new();
    fs::remove_dir(copy.root()).unwrap();
    let status = Command::new("cp").arg("-a").args([target.root(), copy.root()]).status();
    assert!(status.unwrap().success());
    fs::write(copy.path("go"), "").unwrap();
    ran(copy.samuel(&START), Duration::from_secs(20)).ends(0);
    assert_eq!(running.ends(&target), Some(0));
}
