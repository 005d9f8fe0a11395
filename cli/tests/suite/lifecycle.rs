//! `init`, `sync`, `doctor --hooks` and `hooks show`.

use crate::bench::{Bench, says};

fn rust() -> Bench {
    let bench = Bench::empty();
    for (name, text) in [("Cargo.toml", "[package]\n"), ("src/a.rs", ""), ("src/b.rs", ""), ("src/c.rs", "")]
    {
        bench.write(name, text);
    }
    bench
}

#[test]
fn init_says_what_it_wrote_and_what_it_found() {
    let bench = rust();
    let ran = bench.ok(&["init"]);
    says(
        &ran.stdout,
        &[
            "  wrote samuel.toml (new)\n  wrote .samuel/.gitignore (new)\n  wrote AGENTS.md (new)\n",
            "  languages: rust\n  quality checks: cargo test\n",
        ],
    );
    let again = bench.ok(&["init"]);
    assert!(again.stdout.ends_with(" is a project already; nothing to write\n"), "{}", again.stdout);
    let forced = bench.ok(&["init", "--force", "--minimal", "--json"]).json();
    assert_eq!((&forced["command"], &forced["data"]["changes"]), (&"init".into(), &serde_json::json!([])));
}

#[test]
fn force_replaces_a_samuel_toml_that_cannot_be_read_and_keeps_it() {
    let bench = rust();
    std::fs::write(bench.root().join("samuel.toml"), "version = [\n").unwrap();
    assert_ne!(bench.samuel(&["init"]).code, 0);
    let forced = bench.ok(&["init", "--force", "--minimal", "--json"]).json();
    let backup = forced["data"]["backup"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(backup).unwrap(), "version = [\n");
    bench.ok(&["run", "init"]);
}

#[test]
fn after_init_the_rest_of_samuel_works_and_run_init_keeps_what_it_finds() {
    let bench = rust();
    bench.ok(&["init"]);
    let config = bench.read("samuel.toml");
    bench.ok(&["run", "init"]);
    assert_eq!(bench.read("samuel.toml"), config);
    assert_eq!(bench.tasks().len(), 0);
}

#[test]
fn sync_writes_once_and_a_dry_run_never() {
    let bench = rust();
    bench.ok(&["init", "--minimal"]);
    let before = bench.files();
    let dry = bench.ok(&["sync", "--dry-run"]);
    assert_eq!(dry.stdout, "  would write AGENTS.md (new)\n  would write src/AGENTS.md (new)\n");
    assert_eq!(bench.files(), before);
    let data = bench.ok(&["sync", "--json"]).json()["data"].clone();
    assert_eq!(data["changes"][1], serde_json::json!({"path": "src/AGENTS.md", "kind": "create"}));
    assert_eq!(data["fired"][1]["point"], "sync.after");
    let after = bench.files();
    assert_eq!(bench.ok(&["sync"]).stdout, "Up to date: 2 files\n");
    assert_eq!(bench.files(), after);
}

#[test]
fn broken_markers_exit_with_the_line_and_nothing_is_written() {
    let bench = rust();
    bench.ok(&["init", "--minimal"]);
    bench.write("AGENTS.md", "mine\n\n<!-- samuel:end -->\n");
    let before = bench.files();
    let ran = bench.samuel(&["sync"]).fails(1);
    says(&ran.stderr, &["line 3 closes Samuel's section", "AGENTS.md:3\n"]);
    assert_eq!(bench.samuel(&["sync", "--json"]).json()["error"]["code"], "E_SYNC_MARKERS");
    assert_eq!(bench.files(), before);
}

#[test]
fn a_directory_that_is_no_project_is_not_synced() {
    let ran = rust().samuel(&["sync"]).ends(1);
    assert!(ran.stderr.contains("help: Run `samuel init` first.\n"), "{}", ran.stderr);
}

const CONFIG: &str = "version = \"2\"\n[hooks.\"quality.check\"]\ntimeout = 10\n\n\
                      [methodology.ralph.hooks.\"quality.check\"]\nstrict = false\n\n[hooks.\"before:loop\"]\nhandlers = []\n";

#[test]
fn doctor_shows_every_chain_with_the_place_of_each_setting() {
    let bench = Bench::empty();
    bench.write("samuel.toml", CONFIG);
    let ran = bench.ok(&["doctor", "--hooks"]);
    let line = |text: &str| ran.stdout.lines().find(|line| line.starts_with(text)).unwrap().to_owned();
    let words = |text: &str| line(text).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words("quality.check"), "quality.check 100 default built-in samuel no its own warn default");
    let agent = "agent.invoke 100 default built-in samuel yes its own abort_iteration default";
    assert_eq!(words("agent.invoke"), agent);
    assert!(line("before:loop").ends_with("skipped: not in handlers (samuel.toml:9:1)"), "{}", ran.stdout);
    says(&ran.stdout, &["  hooks.\"quality.check\".timeout = \"10s\"  samuel.toml:3:1\n"]);
    says(&ran.stdout, &["  methodology.ralph.hooks.\"quality.check\".strict = false  samuel.toml:6:1\n"]);
    assert_eq!(ran.stdout.lines().skip(1).take_while(|line| !line.is_empty()).count(), 25);
}

#[test]
fn chains_are_shown_also_where_the_agent_cannot_be_used() {
    let bench = Bench::empty();
    bench.configure("agent = \"scripted\"\nagent_command = [\"nowhere.toml\"]");
    assert_eq!(bench.samuel(&["run", "prompt"]).code, 1);
    bench.ok(&["doctor", "--hooks"]);
    bench.ok(&["hooks", "show", "agent.invoke"]);
}

#[test]
fn a_mode_is_shown_with_its_place() {
    let bench = Bench::empty();
    bench.write("samuel.toml", "[hooks.\"context.extra\"]\nmode = \"discovery\"\n");
    let ran = bench.ok(&["doctor", "--hooks"]);
    says(&ran.stdout, &["  hooks.\"context.extra\".mode = \"discovery\"  samuel.toml:2:1\n"]);
    let shown = bench.ok(&["hooks", "show", "context.extra"]).stdout;
    assert!(shown.contains("  it fires only in discovery iterations\n"), "{shown}");
    let data = bench.ok(&["hooks", "show", "context.extra", "--json"]).json()["data"].clone();
    assert_eq!(data["chain"]["mode"], "discovery");
}

#[test]
fn doctor_says_the_same_in_json() {
    let bench = Bench::empty();
    bench.write("samuel.toml", CONFIG);
    let data = bench.ok(&["doctor", "--hooks", "--json"]).json()["data"].clone();
    let chains = data["chains"].as_array().unwrap();
    assert_eq!(chains.len(), 25);
    let check = chains.iter().find(|chain| chain["point"] == "quality.check").unwrap();
    assert_eq!((&check["on_failure"], &check["advisory"]), (&"warn".into(), &true.into()));
    assert_eq!(check["run"][0]["timeout_ms"], serde_json::Value::Null, "the default keeps its own time");
    assert_eq!(check["settings"][0]["origin"]["line"], 6);
}

#[test]
fn doctor_alone_says_what_keeps_a_run_from_starting_and_what_does_not() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("agent_command = [\"/nowhere/agent\"]");
    let before = bench.files();
    let ran = bench.samuel(&["doctor"]);
    assert_eq!((ran.code, bench.files()), (1, before));
    assert_eq!(ran.stderr, "error: 1 of 10 checks failed\nhelp: Correct what is marked as failed above.\n");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "ok       configuration   samuel.toml is valid; the methodology is ralph");
    assert_eq!(
        lines[4],
        "FAILED   agent           agent \"claude\" could not be run: program `/nowhere/agent` was not found: \
         there is no directory `/nowhere`"
    );
    assert!(lines[5].ends_with("/samuel.toml:3:1"), "{lines:?}");
    assert!(
        lines[6].starts_with("                         help: Correct the path, or create `/nowhere`."),
        "{lines:?}"
    );
    assert!(lines[7].starts_with("warning  checks "), "{lines:?}");
    let document = bench.samuel(&["doctor", "--json"]).json();
    assert_eq!(
        (&document["ok"], &document["error"]["code"], &document["data"]["findings"][4]["health"]),
        (&false.into(), &"E_DOCTOR_FAILED".into(), &"failed".into())
    );
    bench.configure("agent_command = [\"/bin/true\"]");
    let ran = bench.ok(&["doctor"]);
    assert!(ran.stdout.contains("\nok       agent           claude can be called\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("ok       state           a plan of 1 task\n"), "{}", ran.stdout);
}

#[test]
fn an_unknown_handler_is_refused_with_its_place() {
    let bench = Bench::empty();
    bench.write("samuel.toml", "version = \"2\"\n[hooks.\"init.before\"]\nhandlers = [\"nope:x\"]\n");
    let before = bench.files();
    let ran = bench.samuel(&["init"]).ends(2);
    assert!(ran.stderr.contains("samuel.toml:3:13"), "{}", ran.stderr);
    assert_eq!(bench.files(), before);
}

#[test]
fn hooks_show_tells_what_handlers_are_given_and_answer() {
    let bench = Bench::empty();
    let text = bench.ok(&["hooks", "show", "sync.before"]).stdout;
    assert!(text.starts_with("sync.before: gate\n  a handler that breaks: abort_command\n"), "{text}");
    says(&text, &["Given\n  project_root      text, required\n  dry_run           bool, required\n"]);
    says(&text, &["Answers\n  ok                bool, required\n  reason            optional text\n"]);
    assert!(text.ends_with("No handlers are registered.\n"), "{text}");
    let data = bench.ok(&["hooks", "show", "quality.check", "--json"]).json()["data"].clone();
    assert_eq!(
        (&data["chain"]["run"][0]["id"], &data["input"][0]["name"]),
        (&"default".into(), &"commands".into())
    );
    let unknown = bench.samuel(&["hooks", "show", "quality.chek"]).ends(2);
    assert!(unknown.stderr.contains("Did you mean \"quality.check\"?"), "{}", unknown.stderr);
}
