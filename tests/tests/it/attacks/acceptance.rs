//! Going on after an agent changed what decides what runs.
//!
//! Whoever pastes the line that a run ended with, or starts as ever, must not
//! accept unseen what the agent wrote.

use samuel_tests::says;

use crate::attacks::{
    kit::{HANG, Ran, SAMUEL, Target, ran},
    terminal::answered,
};

/// What the agent puts into samuel.toml: a check that passes and leaves a mark.
const CHANGE: &str = "sed -i 's/\"false\"/\"touch taken\"/' samuel.toml";

/// A project with one task and a check that fails, and an agent outside of it.
fn project() -> Target {
    let target = Target::with_tasks(&["One"]);
    let agent = target.home().join("agent").display().to_string();
    target.configure(&format!(
        "agent = \"command\"\nagent_command = [\"sh\", {agent:?}]\nquality_checks = [\"false\"]\n\
         max_iterations = 3\npause = 0"
    ));
    target
}

/// Says what the agent does from now on.
fn agent(target: &Target, does: &str) {
    std::fs::write(target.home().join("agent"), format!("cat >/dev/null; {does}")).unwrap();
}

fn start(target: &Target, args: &[&str]) -> Ran {
    let ran = ran(target.samuel(&[&["run", "start"], args].concat()), HANG * 2);
    assert!(!ran.hung, "{args:?}: {}", ran.text());
    ran
}

/// A project whose last run ended since its agent changed samuel.toml, and how it
/// ended.
fn changed() -> (Target, Ran) {
    let target = project();
    agent(&target, CHANGE);
    let ran = start(&target, &["--yes"]).ends(4);
    agent(&target, &format!("{SAMUEL} run done 1"));
    (target, ran)
}

/// Returns the digest that a refusal prints.
fn digest(ran: &Ran) -> String {
    let text = ran.text();
    let (_, rest) = text.split_once("digest of all this: ").expect("a refusal prints the digest");
    rest.lines().next().unwrap().to_owned()
}

#[test]
fn the_line_that_goes_on_asks_and_a_start_with_yes_refuses() {
    let (target, ended) = changed();
    let text = ended.text();
    assert!(text.contains("`samuel run start --accept`"), "{text}");
    for args in [&["--yes"][..], &[], &["--accept"], &["--yes", "--accept"]] {
        let refused = start(&target, args);
        assert_eq!(refused.code, Some(78), "{args:?}: {}", refused.text());
        assert!(!target.path("taken").exists(), "{args:?}");
        assert!(refused.text().contains("changed: samuel.toml"), "{args:?}: {}", refused.text());
        says(&refused.text(), &["quality check 1: touch taken", "`samuel run start --accept`"]);
        let by_digest = format!("`samuel run start --trust-hash {}`", digest(&refused));
        assert!(refused.text().contains(&by_digest), "{}", refused.text());
        assert_eq!(refused.text().matches("quality check 1: ").count(), 1, "{}", refused.text());
    }
}

#[test]
fn what_was_seen_is_accepted_by_its_digest_and_nothing_else_is() {
    let (target, _) = changed();
    let seen = digest(&start(&target, &["--accept"]));
    let other = start(&target, &["--accept", "--trust-hash", "sha256:0"]).ends(78);
    let looked = start(&target, &["--dry-run"]);
    for shown in [&other, &looked] {
        assert!(shown.text().contains("changed: samuel.toml"), "{}", shown.text());
        assert_eq!(digest(shown), seen, "{}", shown.text());
    }
    // It changes once more before the answer.
    let config = target.read("samuel.toml");
    target.write("samuel.toml", format!("{config}# more\n"));
    assert_eq!(start(&target, &["--accept", "--trust-hash", &seen]).code, Some(78));
    target.write("samuel.toml", config);
    start(&target, &["--accept", "--trust-hash", &seen]).ends(0);
    assert!(target.path("taken").exists());
    let log = target.read(".samuel/run/progress.md");
    assert!(log.contains("control file accepted: changed: samuel.toml: sha256:"), "{log}");
    // What was accepted once is not asked for again.
    assert_eq!(start(&target, &["--yes"]).code, Some(0));
}

#[test]
fn at_a_terminal_the_change_is_shown_and_one_answer_decides() {
    let (target, _) = changed();
    let no = answered(target.samuel(&["run", "start", "--accept"]), "n");
    let text = String::from_utf8_lossy(&no.bytes).into_owned();
    assert_eq!(no.code, Some(78), "{text}");
    assert!(!no.hung && !target.path("taken").exists());
    assert_eq!(text.matches("changed: samuel.toml").count(), 1, "{text}");
    assert_eq!(text.matches("quality check 1: touch taken").count(), 1, "a no prints no list: {text}");
    says(&text, &["Accept these changes, run this, and trust it from now on? [y/N]", "was declined"]);

    // With --yes the change is asked about as well, and nothing else is.
    let no = answered(target.samuel(&["run", "start", "--yes", "--accept"]), "n");
    let text = String::from_utf8_lossy(&no.bytes).into_owned();
    assert_eq!((no.code, target.path("taken").exists()), (Some(78), false), "{text}");
    says(&text, &["changed: samuel.toml", "Accept these changes, and run this? [y/N]"]);
    let yes = answered(target.samuel(&["run", "start", "--yes", "--accept"]), "y");
    assert_eq!(yes.code, Some(0), "{}", String::from_utf8_lossy(&yes.bytes));
    assert!(target.path("taken").exists());
    let unasked = answered(target.samuel(&["run", "start", "--yes", "--accept"]), "n");
    assert_eq!(unasked.code, Some(0), "{}", String::from_utf8_lossy(&unasked.bytes));
}

#[test]
fn the_line_that_goes_on_after_a_digest_has_the_one_of_the_next_start() {
    let (target, _) = changed();
    agent(&target, "true");
    let seen = digest(&start(&target, &["--accept"]));
    let ended = start(&target, &["--max-iterations", "1", "--trust-hash", &seen]).ends(4);
    let text = ended.text();
    let (_, rest) = text.split_once("`samuel run start --max-iterations 1 --trust-hash ").expect(&text);
    let next = rest.split('`').next().unwrap();
    assert_ne!(next, seen, "{text}");
    let again = start(&target, &[&format!("--trust-hash={next}"), "--max-iterations", "1"]).ends(4);
    let line = format!("`samuel run start '--trust-hash={next}' --max-iterations 1`");
    assert!(again.text().contains(&line), "{}", again.text());
}

#[test]
fn an_agent_that_is_not_there_is_told_before_anything_is_asked() {
    let target = Target::with_tasks(&["One"]);
    let asked = answered(target.samuel(&["run", "start", "--agent-command", "no-such-agent"]), "y");
    let text = String::from_utf8_lossy(&asked.bytes).into_owned();
    assert!(text.contains("no-such-agent") && text.contains("not found"), "{text}");
    assert!(!text.contains("Run this?") && !text.contains("This run executes:"), "{text}");
}

#[test]
fn what_is_put_back_needs_no_answer() {
    let (target, _) = changed();
    let config = target.read("samuel.toml");
    target.write("samuel.toml", config.replace("touch taken", "false"));
    start(&target, &["--yes"]).ends(3);
    // A change of the user's own, after that run has ended, is none of an agent.
    target.write("samuel.toml", config.replace("touch taken", "touch mine"));
    target.ok(&["run", "reset", "1"]);
    assert_eq!(start(&target, &["--yes"]).code, Some(0));
    assert!(target.path("mine").exists());
}

#[test]
fn an_agent_that_changes_what_runs_and_kills_samuel_is_not_taken_up_unseen() {
    let target = project();
    let pid = target.home().join("pid").display().to_string();
    agent(&target, &format!("{CHANGE}; kill -9 \"$(cat {pid})\"; sleep 5"));
    let killed = ran(target.samuel_after(&format!("echo $$ > {pid}"), &["run", "start", "--yes"]), HANG * 2);
    assert_eq!(killed.code, None, "{}", killed.text());
    agent(&target, &format!("{SAMUEL} run done 1"));
    let refused = start(&target, &["--yes"]).ends(78);
    assert!(refused.text().contains("changed: samuel.toml"), "{}", refused.text());
    assert!(!target.path("taken").exists());
    start(&target, &["--accept", "--trust-hash", &digest(&refused)]).ends(0);
}

#[test]
fn programs_are_told_what_changed() {
    let (target, _) = changed();
    let refused = start(&target, &["--yes", "--json"]);
    let document = refused.json();
    assert_eq!(document["error"]["code"], "E_TRUST_REFUSED");
    let change = &document["data"]["executables"]["changes"][0];
    assert_eq!(change["path"], "samuel.toml");
    for side in ["before", "now"] {
        assert!(change[side].as_str().unwrap().starts_with("sha256:"), "{change}");
    }
    assert_eq!(document["data"]["digest"].as_str().unwrap(), digest(&start(&target, &[])));
}
