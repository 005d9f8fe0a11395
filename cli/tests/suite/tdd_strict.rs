//! `examples/plugins/tdd-strict`, by its README.

use std::{fs, path::Path, process::Command};

use crate::bench::{Bench, Ran, SAMUEL, says};

/// An agent that finds one task, and makes the test pass where it is given that.
const AGENT: &str = r#"
otherwise = [{ run = { command = "\"$SAMUEL_BINARY\" run enqueue 'A greeting names whom it greets'" } }]

[[calls]]
task = "1"
steps = [
    { write = { path = "greet.sh", content = "echo \"Hello, $1!\"\n" } },
    { run = { command = "git add greet.sh && git commit -qm 'feat: greet by name'" } },
    { done = { commit_sha = "{{head}}" } },
]
"#;

/// The code blocks of a page, each with its language.
fn blocks(page: &str) -> Vec<(String, String)> {
    let parts: Vec<&str> = page.split("```").collect();
    let code = parts.iter().skip(1).step_by(2).filter_map(|part| part.split_once('\n'));
    code.map(|(language, text)| (language.to_owned(), text.to_owned())).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// A repository with the plugin; nothing where there is no Python to run it.
#[expect(clippy::print_stdout, clippy::disallowed_macros, reason = "a test that is skipped says so")]
fn repository() -> Option<Bench> {
    if !Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no python3");
        return None;
    }
    let bench = Bench::empty();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plugins/tdd-strict");
    copy(&example, &bench.path("plugins/tdd-strict"));
    bench.write("script.toml", AGENT);
    fs::write(bench.path("../home/.gitconfig"), "[user]\nname = Ada\nemail = ada@example.org\n").unwrap();
    sh(&bench, "git init -q");
    Some(bench)
}

fn sh(bench: &Bench, script: &str) -> Ran {
    let bin = bench.path("../home/bin");
    fs::create_dir_all(&bin).unwrap();
    let _ = std::os::unix::fs::symlink(SAMUEL, bin.join("samuel"));
    let script = format!("PATH=\"$HOME/bin:$PATH\"\n{script}");
    Ran::of(bench.command_below(&script, &[]))
}

#[test]
fn its_readme_leads_from_a_refusal_over_a_failing_test_to_a_plan_that_is_done() {
    let Some(bench) = repository() else { return };
    let readme = bench.read("plugins/tdd-strict/README.md");
    let mut ended = Vec::new();
    let mut said = String::new();
    for (language, text) in blocks(&readme) {
        match &*language {
            // The table is the last one of the file.
            "toml" => drop(bench.write(
                "samuel.toml",
                &format!("{text}agent = \"scripted\"\nagent_command = [\"script.toml\"]\n"),
            )),
            "sh" => {
                let ran = sh(&bench, &format!("set -e\n{text}"));
                said = ran.stdout + &ran.stderr;
                ended.push(ran.code);
                if text.contains("run pilot") {
                    assert_eq!(bench.status("1"), "pending", "{said}");
                    assert!(!bench.path("greet.sh").exists(), "{said}");
                }
            }
            "text" => says(&said, &[text.trim()]),
            other => panic!("a block in {other}"),
        }
    }
    assert_eq!(ended, [0, 4, 0, 0], "{said}");
    assert_eq!((bench.tasks().len(), bench.status("1")), (1, "completed".to_owned()), "{said}");
    assert_eq!(bench.ok(&["run", "status", "--json"]).json()["data"]["methodology"], "tdd-strict");
    sh(&bench, "sh test.sh").ends(0);

    // The next task needs a test of its own, and what is committed alone counts.
    bench.ok(&["run", "enqueue", "Another"]);
    let ran = bench.samuel(&["run", "start", "--yes"]).ends(4);
    says(&ran.text(), &["no failing test is committed"]);
    bench.write("tests/red.sh", "exit 1\n");
    let ran = bench.samuel(&["run", "start", "--yes"]).ends(4);
    says(&ran.text(), &["not all is committed, tests/red.sh for one"]);
}

#[test]
fn a_gate_that_breaks_ends_the_loop_before_the_agent_is_called() {
    let Some(bench) = repository() else { return };
    let settings =
        "agent = \"scripted\"\nagent_command = [\"script.toml\"]\nquality_checks = [\"sleep 20\"]\n";
    let hooks = "[methodology.tdd-strict.hooks.\"iteration.gate\"]\ntimeout = \"1s\"\n";
    let config = format!(
        "version = \"2\"\ndefault_methodology = \"tdd-strict\"\n[methodology.tdd-strict]\n{settings}{hooks}"
    );
    bench.write("samuel.toml", &config);
    bench.ok(&["install", "plugins/tdd-strict", "--yes"]);
    bench.ok(&["run", "init"]);
    bench.ok(&["run", "enqueue", "Greet"]);
    sh(&bench, "git add -A && git commit -qm all").ends(0);
    let ran = bench.samuel(&["run", "start", "--yes", "--pause", "0s"]);
    assert_ne!(ran.code, 0);
    says(&ran.text(), &["tdd-strict:hooks/gate.py", "no answer within 1s", "strict-hook"]);
    assert!(!bench.path("greet.sh").exists(), "{}", ran.text());
}

#[test]
fn its_prompts_fit_and_other_methodologies_have_no_gate_of_it() {
    let Some(bench) = repository() else { return };
    let agent = "agent = \"scripted\"\nagent_command = [\"script.toml\"]\n";
    let check = "quality_checks = [\"true\"]\n";
    let config = format!(
        "version = \"2\"\ndefault_methodology = \"tdd-strict\"\n[methodology.tdd-strict]\n{agent}{check}[methodology.ralph]\n{check}"
    );
    bench.write("samuel.toml", &config);
    bench.ok(&["plugin", "validate", "plugins/tdd-strict"]);
    bench.ok(&["install", "plugins/tdd-strict", "--yes"]);
    let shown = bench.ok(&["hooks", "show", "iteration.gate"]).stdout;
    let gate = shown.lines().find(|line| line.contains("tdd-strict:hooks/gate.py"));
    assert!(gate.is_some_and(|gate| gate.contains("30m") && gate.contains("yes")), "{shown}");
    bench.ok(&["run", "init"]);
    let seen = bench.ok(&["run", "pilot", "--dry-run"]).stdout;
    says(&seen, &["# Discovery: behaviour without tests", "run enqueue"]);
    // A copy of its templates is as good as they are.
    bench.ok(&["run", "prompt", "--export"]);
    says(&bench.read(".samuel/templates/tdd-strict/prompt.md.tmpl"), &["# Make the failing test pass"]);
    says(&bench.samuel(&["doctor"]).stdout, &["ok       templates       2 templates of the project"]);
    bench.ok(&["run", "ralph", "init"]);
    bench.ok(&["run", "ralph", "enqueue", "Free"]);
    let mut start = bench.start_args("\"$SAMUEL_BINARY\" run ralph done \"$SAMUEL_TASK_ID\"").to_vec();
    start.insert(1, "ralph");
    bench.samuel(&start).ends(0);
}
