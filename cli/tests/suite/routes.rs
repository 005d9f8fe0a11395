//! Which agent works: models, routes, fallbacks.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use crate::bench::{Bench, Ran, says};

const DONE: &str = "\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";
const START: [&str; 5] = ["run", "start", "--yes", "--pause", "0"];
/// A usage limit that nobody waits for.
const LIMIT: &str =
    "[[calls]]\nsteps = [{ rate_limit = { message = \"m\", resets_at = \"2200-01-01T00:00:00Z\" } }]\n";

/// Puts a program where agents are looked for.
fn program(bench: &Bench, name: &str, script: &str) {
    let path = bench.tmp().join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A command that finds these programs, and no agent of the tester.
fn command(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bench.command(args);
    command.env("PATH", format!("{}:/usr/bin:/bin", bench.tmp().display()));
    command
}

fn run(bench: &Bench, args: &[&str]) -> Ran {
    Ran::of(command(bench, args))
}

#[test]
fn routes_by_complexity_and_by_failures_have_another_agent_work() {
    let bench = Bench::with_tasks(&["First"]);
    bench.ok(&["run", "enqueue", "--complexity", "complex", "--", "Second"]);
    program(&bench, "kiro-cli", &format!("echo kiro $SAMUEL_TASK_ID >> said; {DONE}"));
    bench.configure(
        "agent = \"command\"\nagent_command = [\"/bin/sh\", \"-c\", \"echo command $SAMUEL_TASK_ID >> said; exit 3\"]\n\
         [[methodology.ralph.routes]]\ncomplexity = \"complex\"\nagent = \"kiro\"\n\
         [[methodology.ralph.routes]]\nafter_failures = 1\nagent = \"kiro\"",
    );
    let ran = run(&bench, &START).ends(0);
    let said = bench.read("said");
    let mut said: Vec<&str> = said.lines().collect();
    said.sort_unstable();
    assert_eq!(said, ["command 1", "kiro 1", "kiro 2"]);
    says(
        &ran.stdout,
        &[
            "other agents: kiro for complexity complex; kiro for after 1 failure\n",
            "route 1: complexity complex",
            "route 2: after 1 failure",
        ],
    );
}

#[test]
fn a_fallback_works_where_the_agent_is_not_there_and_doctor_says_so() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("agent = \"codex\"\nfallback = [\"kiro\"]");
    let neither = run(&bench, &START);
    assert_ne!(neither.code, 0, "{neither:?}");
    let failed = run(&bench, &["doctor"]);
    assert_ne!(failed.code, 0, "{failed:?}");
    program(&bench, "kiro-cli", DONE);
    says(&run(&bench, &["doctor"]).stdout, &["; a fallback works in its place"]);
    let ran = run(&bench, &START).ends(0);
    says(&ran.stderr, &["as long as that is so, calls have another agent, where there is one"]);
    assert_eq!(bench.status("1"), "completed");
    bench.configure("agent = \"kiro\"\nfallback = [\"codex\"]");
    says(
        &run(&bench, &["doctor"]).stdout,
        &["kiro can be called; others, of a route or a fallback, cannot be"],
    );
}

#[test]
fn an_agent_or_a_model_that_there_is_not_is_refused_before_the_run_with_its_line() {
    let bench = Bench::with_tasks(&["First"]);
    program(&bench, "kiro-cli", "touch said");
    program(&bench, "codex", "echo 'error: unknown model nope' >&2; exit 1");
    let route = |choice: &str| {
        bench.configure(&format!(
            "agent = \"kiro\"\n[[methodology.ralph.routes]]\nmode = \"implementation\"\n{choice}"
        ));
        let ran = run(&bench, &START);
        assert_ne!(ran.code, 0, "{ran:?}");
        assert!(!bench.path("said").exists());
        ran.stderr
    };
    says(
        &route("agent = \"cluade\""),
        &["unknown agent \"cluade\"", "samuel.toml:6:", "Did you mean \"claude\"?"],
    );
    says(&route("model = \"opus\""), &["takes no model; leave out \"opus\"", "samuel.toml:"]);
    bench.configure("agent = \"codex\"");
    let ran = run(&bench, &[&START[..], &["--model", "nope", "--max-failures", "1"]].concat()).ends(4);
    says(&ran.stdout, &["unknown model nope"]);
}

#[test]
fn what_a_start_refuses_of_routes_and_fallbacks_the_doctor_refuses_with_the_same_place() {
    let bench = Bench::with_tasks(&["First"]);
    program(&bench, "claude", "true");
    for (more, told, place, help) in [
        (
            "[[methodology.ralph.routes]]\nmode = \"discovery\"\nagent = \"kiro\"\nmodel = \"opus\"",
            "takes no model; leave out \"opus\"",
            "samuel.toml:4:1",
            "choose an agent that takes one: claude, codex, gemini, copilot.",
        ),
        (
            "fallback = [\"codex\", \"command\"]",
            "agent \"command\" can only be the configured agent",
            "samuel.toml:4:22",
            "Name another agent there, or make it the configured one.",
        ),
    ] {
        bench.configure(&format!("agent = \"claude\"\n{more}"));
        let start = run(&bench, &START).ends(2);
        says(&start.stderr, &[told, place, help]);
        let doctor = run(&bench, &["doctor"]).ends(1);
        says(&doctor.stdout, &["FAILED   agent ", told, place, help]);
    }
    bench.configure("agent = \"claude\"\nfallback = \"codex\"");
    says(&run(&bench, &START).ends(2).stderr, &["expected a list, found text", "Write a list in brackets"]);
}

#[test]
fn an_agent_that_reports_no_cost_under_a_limit_of_it_is_said_at_the_start_in_a_dry_run_and_by_the_doctor() {
    let bench = Bench::with_tasks(&["First"]);
    program(&bench, "claude", "true");
    program(&bench, "codex", "true");
    let none = "task_budget.max_cost_usd never blocks a task, since the agent \"codex\" reports no cost";
    bench.configure("agent = \"claude\"\nfallback = [\"codex\"]\ntask_budget = { max_cost_usd = 1 }");
    for args in [&START[..], &["run", "start", "--dry-run"], &["doctor"]] {
        let ran = run(&bench, args);
        says(&ran.text(), &[none]);
        assert!(!ran.text().contains("since the agent \"claude\""), "{ran:?}");
    }
}

#[test]
fn where_all_are_limited_the_run_ends_as_rate_limited() {
    let bench = Bench::with_tasks(&["First"]);
    let limit =
        r#"{"type":"result","subtype":"success","is_error":true,"result":"usage limit reached|7258118400"}"#;
    program(&bench, "claude", &format!("echo claude >> said\necho '{limit}'\nexit 1"));
    bench.write("script.toml", LIMIT);
    bench.configure(
        "agent = \"scripted\"\nagent_command = [\"script.toml\"]\nfallback = [\"claude\"]\nrate_limit = \"stop\"",
    );
    let ran = run(&bench, &START).ends(4);
    says(
        &ran.stdout,
        &[
            "rate-limited: the agent and every fallback are at their usage limits, which last until 2200-01-01",
        ],
    );
    assert_eq!((bench.read("said").as_str(), bench.status("1").as_str()), ("claude\n", "pending"));
}

#[test]
fn status_adds_up_what_each_agent_consumed_over_the_runs_of_a_plan() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.ok(&["run", "enqueue", "--complexity", "complex", "--", "Third"]);
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":0}}"#;
    program(&bench, "claude", &format!("{DONE}\necho '{result}'"));
    bench.write(
        "script.toml",
        "[[calls]]\nrepeat = true\nsteps = [{ usage = { input_tokens = 5, output_tokens = 0 } }, { done = {} }]\n",
    );
    bench.configure(
        "agent = \"scripted\"\nagent_command = [\"script.toml\"]\n\
         [[methodology.ralph.routes]]\ncomplexity = \"complex\"\nagent = \"claude\"",
    );
    for _ in 0..3 {
        run(&bench, &[&START[..], &["--max-iterations", "1"]].concat());
    }
    let status = bench.ok(&["run", "status", "--json"]).json()["data"]["agents"].clone();
    let of = |agent: &serde_json::Value| {
        let usage = &agent["usage"];
        (
            agent["agent"].as_str().unwrap().to_owned(),
            usage["input_tokens"].as_u64(),
            usage["cost_usd"].as_f64(),
        )
    };
    let agents: Vec<_> = status.as_array().unwrap().iter().map(of).collect();
    assert_eq!(agents, [("claude".to_owned(), Some(7), Some(0.5)), ("scripted".to_owned(), Some(10), None)]);
    says(&bench.ok(&["run", "status"]).stdout, &["claude, 7 tokens, $0.50\n", "scripted, 10 tokens\n"]);
    bench.ok(&["run", "init", "--force"]);
    let fresh = bench.ok(&["run", "status", "--json"]).json()["data"]["agents"].clone();
    assert_eq!(fresh, serde_json::json!([]));
}

#[test]
fn a_prompt_says_beside_it_which_agent_gets_it() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("agent = \"claude\"");
    let plain = bench.ok(&["run", "prompt"]);
    assert!(!plain.stderr.contains("Agent: "), "{plain:?}");
    let with_model = bench.ok(&["run", "prompt", "--model", "opus"]);
    assert_eq!(with_model.stderr.lines().next(), Some("Agent: claude (opus), the configured agent"));
    assert!(!with_model.stdout.contains("Agent: claude"), "{with_model:?}");
    bench.configure("agent = \"kiro\"");
    let none = bench.samuel(&["run", "prompt", "--model", "opus"]);
    assert_ne!(none.code, 0, "{none:?}");
    says(&none.stderr, &["takes no model; leave out \"opus\""]);
}

#[test]
fn the_question_before_a_run_shows_other_agents_as_it_shows_the_configured_one() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write("tool.sh", "#!/bin/sh\n");
    bench.write(".gemini/settings.json", "{}\n");
    bench.configure(
        "agent = \"claude\"\nfallback = [\"gemini\"]\n\
         [[methodology.ralph.routes]]\nmode = \"implementation\"\nagent = \"kiro\"\nargs = [\"--with\", \"./tool.sh\"]",
    );
    let data = bench.ok(&["run", "start", "--dry-run", "--json"]).json()["data"].clone();
    let entries =
        data["executables"]["entries"].as_array().or(data["executables"].as_array()).unwrap().clone();
    let of = |name: &str| {
        let entry = entries.iter().find(|entry| entry["kind"] == "agent" && entry["id"] == name).unwrap();
        entry.to_string()
    };
    says(&of("kiro"), &["file tool.sh", "--trust-all-tools", "for mode implementation"]);
    says(&of("gemini"), &["as a fallback"]);
    says(&of("claude"), &["file .gemini/settings.json"]);
}
