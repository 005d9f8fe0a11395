//! Agents that report costs to spend without end.

use std::process::Stdio;

use crate::attacks::kit::{HANG, Ran, Target, ran, wait_for};

/// Runs an agent that speaks as Claude Code does and reports one of these costs
/// a call, with a budget of one dollar.
fn start(costs: &[&str]) -> Ran {
    let target = Target::with_tasks(&["One"]);
    let calls = target.home().join("calls");
    let mut script =
        format!("#!/bin/sh\ncat >/dev/null\necho >> {0}\ncase $(wc -l < {0}) in\n", calls.display());
    for (call, cost) in costs.iter().enumerate() {
        script += &format!("{}) cost='{cost}' ;;\n", call + 1);
    }
    script += "*) cost=0 ;;\nesac\ndate +%N%s >> changes\n\
               echo \"{\\\"type\\\":\\\"result\\\",\\\"subtype\\\":\\\"success\\\",\\\"result\\\":\\\"ok\\\",\
               \\\"usage\\\":{\\\"input_tokens\\\":1},\\\"total_cost_usd\\\":$cost}\"\n";
    let agent = target.home().join("agent");
    std::fs::write(&agent, script).unwrap();
    target.configure(&format!(
        "agent = \"claude\"\nagent_command = [\"sh\", {agent:?}]\nmax_iterations = 6\npause = 0\n\
         max_consecutive_failures = 9\ntask_budget = {{ max_attempts = 0 }}\nforecast = false\nsession_budget = {{ max_cost_usd = 1.0 }}"
    ));
    let ran = ran(target.samuel(&["run", "start", "--yes", "--json"]), HANG * 2);
    assert!(!ran.hung, "{}", ran.text());
    ran
}

fn count(ran: &Ran, text: &str) -> usize {
    ran.text().lines().filter(|line| line.contains(text)).count()
}

#[test]
fn a_negative_cost_does_not_pay_for_what_others_cost() {
    let ran = start(&["-1000", "0.6", "-0.5", "0.6"]).ends(4);
    assert_eq!(count(&ran, "\"event\":\"iteration_started\""), 4, "{}", ran.text());
    assert_eq!(count(&ran, "\"exit_reason\":\"budget\""), 2, "in the last event and the answer");
    assert_eq!(count(&ran, "which counts as unknown"), 1, "one warning: {}", ran.text());
}

#[test]
fn a_cost_that_is_no_number_does_not_turn_the_budget_off() {
    for bad in ["1e999", "-1e308", "NaN", "\\\"free\\\""] {
        let ran = start(&[bad, "2"]);
        assert_eq!(ran.code, Some(4), "{bad}: {}", ran.text());
        assert_eq!(count(&ran, "\"event\":\"iteration_started\""), 2, "{bad}: {}", ran.text());
        assert_eq!(count(&ran, "\"exit_reason\":\"budget\""), 2, "{bad}");
    }
}

/// Starts a scripted agent, which waits after each step that says what it used,
/// and kills Samuel when it waits for the first time.
fn killed_at_work(target: &Target, call: &str) {
    target.write("script.toml", format!("[[calls]]\nsteps = [{call}]\n"));
    let mut command = target.samuel(&scripted("script.toml"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the agent", || target.path("at-work").exists() || child.try_wait().unwrap().is_some());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The command that starts a run of a recording.
fn scripted(script: &str) -> [&str; 10] {
    ["run", "start", "--yes", "--agent", "scripted", "--agent-command", script, "--pause", "0", "--json"]
}

/// Goes on with a recording in which every task is done.
fn goes_on(target: &Target) -> Ran {
    target.write("again.toml", "[[calls]]\nrepeat = true\nsteps = [{ done = {} }]\n");
    ran(target.samuel(&scripted("again.toml")), HANG * 2)
}

fn tokens(target: &Target) -> u64 {
    target.run(&["run", "status", "--json"]).json()["data"]["progress"]["tokens"].as_u64().unwrap()
}

#[test]
fn what_was_consumed_before_a_kill_counts_after_it() {
    let wait = "{ write = { path = \"at-work\", content = \"\" } }, { sleep = { ms = 60000 } }";
    let used = "{ usage = { input_tokens = 700, output_tokens = 11 } }";
    for call in [format!("{used}, {wait}"), format!("{used}, {used}, {wait}")] {
        let target = Target::with_tasks(&["One"]);
        killed_at_work(&target, &call);
        let ran = goes_on(&target);
        assert_eq!(ran.code, Some(0), "{}", ran.text());
        assert_eq!(tokens(&target), 711 * call.matches("usage").count() as u64, "{call}: {}", ran.text());
    }
    // A call that had ended, while its work was checked.
    let target = Target::with_tasks(&["One"]);
    target.configure("quality_checks = [\"[ -e at-work ] || { touch at-work; sleep 60; }\"]");
    killed_at_work(&target, &format!("{used}, {{ done = {{}} }}"));
    let ran = goes_on(&target);
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    assert_eq!(tokens(&target), 711, "{}", ran.text());
}
