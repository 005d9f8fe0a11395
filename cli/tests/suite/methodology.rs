//! Which methodology a command means.

use crate::bench::{Bench, says};

#[test]
fn a_methodology_can_stand_before_any_command() {
    let bench = Bench::empty();
    bench.write("prd.md", "# P\n\n## Tasks\n\n### 1.2 Work\n");
    bench.ok(&["auto", "ralph", "init", "--prd", "prd.md"]);
    bench.ok(&["run", "rw", "tasks"]);
    bench.ok(&["auto", "done", "1.2"]);
    assert_eq!(bench.status("1.2"), "completed");
    assert_eq!(bench.samuel(&["run", "rw", "start", "--yes", "--agent-command", "true"]).code, 0);
}

#[test]
fn run_ralph_run_rw_and_run_are_the_same_and_so_is_auto() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let said = bench.ok(&["run"]).stdout;
    for words in [&["run", "ralph"][..], &["run", "rw"], &["auto"], &["auto", "rw"], &["run", "rw", "status"]]
    {
        assert_eq!(bench.ok(words).stdout, said, "{words:?}");
    }
    let done = "\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";
    let start = bench.start_args(done);
    for (name, status) in [("rw", ["completed", "pending"]), ("ralph", ["completed", "completed"])] {
        bench.samuel(&[&["run", name], &start[1..], &["--max-iterations", "1"]].concat());
        assert_eq!([bench.status("1"), bench.status("2")], status, "{name}");
    }
}

#[test]
fn an_unknown_methodology_is_an_error_with_suggestions() {
    let bench = Bench::with_tasks(&[]);
    for args in [&["run", "ralf"][..], &["run", "ralf", "tasks"], &["auto", "ralf", "start"]] {
        let ran = bench.samuel(args).fails(2);
        assert!(ran.stderr.contains("methodology not found: \"ralf\""), "{}", ran.stderr);
        assert!(ran.stderr.contains("Did you mean \"ralph\"?"), "{}", ran.stderr);
        assert!(ran.stderr.contains("samuel ls --type methodology"), "{}", ran.stderr);
    }
    let error = bench.samuel(&["run", "ralf", "--json"]).json()["error"].clone();
    assert_eq!(error["code"], "E_METHODOLOGY_NOT_FOUND");
}

#[test]
fn a_mistyped_command_is_suggested() {
    let ran = Bench::with_tasks(&[]).samuel(&["run", "strat"]).ends(2);
    assert!(ran.stderr.contains("samuel run start"), "{}", ran.stderr);
}

#[test]
fn the_positional_wins_over_the_default_of_samuel_toml() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write("samuel.toml", "version = \"2\"\ndefault_methodology = \"tdd-strict\"\n");
    let ran = bench.samuel(&["run", "start", "--dry-run"]).ends(2);
    assert!(ran.stderr.contains("samuel.toml:2:"), "{}", ran.stderr);
    bench.ok(&["run", "ralph", "start", "--dry-run", "--agent-command", "true"]);
}

#[test]
fn a_plan_is_read_and_changed_where_a_program_brings_the_methodology() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.write("samuel.toml", "version = \"2\"\ndefault_methodology = \"haiku\"\n\n[methodology.haiku]\n");
    let plan = std::fs::read_to_string(bench.prd()).unwrap();
    std::fs::write(bench.prd(), plan.replace("methodology: ralph", "methodology: haiku")).unwrap();
    bench.ok(&["run", "done", "1"]);
    bench.ok(&["run", "haiku", "enqueue", "Third"]);
    for looking in [&["run"][..], &["run", "status"], &["run", "haiku", "tasks"]] {
        bench.ok(looking);
    }
    assert_eq!((bench.status("1"), bench.status("3")), ("completed".to_owned(), "pending".to_owned()));
    // A loop needs what the program brings.
    for command in [&["run", "start", "--yes"][..], &["run", "prompt"]] {
        let ran = bench.samuel(command).fails(2);
        says(&ran.stderr, &["unknown methodology \"haiku\"", "samuel.toml:2:"]);
    }
    bench.samuel(&["run", "haikuu", "tasks"]).fails(2);
    let looked = bench.samuel(&["doctor"]).ends(1).stdout;
    says(
        &looked,
        &[
            "FAILED   configuration   the methodology is haiku, which is neither built in nor",
            "Run the loop by that program.",
            "skipped  hooks",
            "state",
        ],
    );
    // A name that is near one that there is stays a mistake.
    bench.write("samuel.toml", "version = \"2\"\ndefault_methodology = \"ralpf\"\n");
    let ran = bench.samuel(&["doctor"]);
    assert!(ran.code != 0 && (ran.stdout + &ran.stderr).contains("methodology not found"), "it is unknown");
}

#[test]
fn what_samuel_toml_still_sets_of_a_methodology_that_is_uninstalled_is_named_and_fails_the_doctor() {
    let bench = with_tdd("");
    let default = "default_methodology = \"tdd\"\n";
    let table = "\n[methodology.tdd-strict]\nmax_iterations = 1\n";
    bench.write("samuel.toml", &format!("{default}{}{table}", bench.read("samuel.toml")));
    let removed = bench.ok(&["uninstall", "samuel-tdd"]);
    says(&removed.stderr, &["samuel.toml still has default_methodology, methodology.tdd-strict"]);
    let both_fail = |told: &str| {
        bench.samuel(&["run", "start", "--yes", "--agent-command", "true"]).fails(2);
        says(&bench.samuel(&["doctor"]).ends(1).stdout, &["FAILED   configuration", told]);
    };
    both_fail("the methodology is tdd, which is neither built in nor");
    // The table alone keeps the built-in methodology from starting, too.
    bench.write("samuel.toml", &bench.read("samuel.toml").replace(default, ""));
    both_fail("unknown methodology \"tdd-strict\"");
    bench.write("samuel.toml", &bench.read("samuel.toml").replace(table, ""));
    says(&bench.samuel(&["doctor"]).stdout, &["ok       configuration"]);
}

/// An agent that keeps its prompt and records its task as done.
const DONE: &str = "cat > prompt.txt; \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";

/// A project with the plugin `samuel-tdd`, which provides `tdd-strict`: three
/// iterations, a check that fails and is advice, and a prompt of its own.
pub(crate) fn with_tdd(more: &str) -> Bench {
    let bench = Bench::empty();
    source(&bench, "samuel-tdd", "tdd-strict", more);
    bench.write(
        "plugins/samuel-tdd/templates/prompt.md.tmpl",
        "Write the test first: {{ .Methodology.Source }}\n",
    );
    bench.ok(&["install", "plugins/samuel-tdd", "--yes"]);
    bench
}

fn source(bench: &Bench, plugin: &str, methodology: &str, more: &str) {
    let manifest = format!(
        "[plugin]\nname = \"{plugin}\"\nkind = \"methodology\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n\
         [[methodology]]\nname = \"{methodology}\"\naliases = [\"tdd\"]\nmax_iterations = 3\n\
         quality_checks = [\"echo red > check.txt; exit 1\"]\n{more}\n\
         [methodology.hooks.\"quality.check\"]\nstrict = false\n"
    );
    bench.write(&format!("plugins/{plugin}/samuel-plugin.toml"), &manifest);
}

pub(crate) fn start_tdd(bench: &Bench, agent: &str, more: &[&str]) -> crate::bench::Ran {
    let mut args = bench.start_args(agent).to_vec();
    args.insert(1, "tdd");
    bench.samuel(&[&args, more].concat())
}

#[test]
fn the_methodology_of_a_plugin_runs_with_its_defaults_its_chains_and_its_templates() {
    let bench = with_tdd("templates = \"templates/\"");
    let listed = bench.ok(&["ls", "--type", "methodology"]).stdout;
    assert!(listed.contains("tdd-strict   tdd      samuel-tdd\n"), "{listed}");
    bench.ok(&["run", "tdd-strict", "init"]);
    bench.ok(&["run", "tdd", "enqueue", "First"]);
    let asked = bench.samuel(&["run", "tdd", "start", "--agent-command", "true"]).ends(78);
    says(&asked.stderr, &["echo red", "samuel-tdd/templates/prompt.md.tmpl"]);

    // Its check fails, and by its chain that is advice.
    let ran = start_tdd(&bench, DONE, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(bench.read("prompt.txt").contains("\n\nWrite the test first: samuel-tdd\n\n# Control files\n"));
    assert_eq!(bench.read("check.txt"), "red\n");

    // Its cap holds, and samuel.toml goes over it.
    bench.ok(&["run", "tdd", "enqueue", "Second"]);
    let iterations = |bench: &Bench| {
        let (_, last) = start_tdd(bench, "true", &["--json"]).events();
        last["data"]["report"]["iterations"].clone()
    };
    assert_eq!(iterations(&bench), 3);
    let config = bench.read("samuel.toml");
    bench.write("samuel.toml", &format!("{config}\n[methodology.tdd-strict]\nmax_iterations = 1\n"));
    assert_eq!(iterations(&bench), 1);

    // The project's own template goes over the plugin's.
    bench.write(".samuel/templates/tdd-strict/prompt.md.tmpl", "mine\n");
    assert!(bench.ok(&["run", "tdd", "prompt", "--yes"]).stdout.contains("\n\nmine\n"));

    // The one that is built in has nothing of it.
    bench.ok(&["run", "ralph", "init"]);
    bench.ok(&["run", "ralph", "enqueue", "Third"]);
    let prompt = bench.ok(&["run", "ralph", "prompt", "--yes"]).stdout;
    assert!(!prompt.contains("mine") && !prompt.contains("Second") && prompt.contains("Third"), "{prompt}");
}

#[test]
fn no_methodology_is_called_like_a_command() {
    for name in ["start", "task", "help", "pilot", "why", "lanes"] {
        let bench = Bench::empty();
        source(&bench, "samuel-tdd", name, "");
        for args in [["plugin", "validate", "plugins/samuel-tdd"], ["install", "plugins/samuel-tdd", "--yes"]]
        {
            let ran = bench.samuel(&args).ends(2);
            let told = format!(
                "\"{name}\" cannot be the name of a methodology: it is a subcommand of `run`, or will be one"
            );
            assert!(ran.stderr.contains(&told), "{ran:?}");
        }
        assert!(!bench.path(".samuel/plugins/samuel-tdd").exists());
    }
}

#[test]
fn the_methodology_of_a_plugin_can_be_the_default() {
    let bench = with_tdd("");
    let config = bench.read("samuel.toml");
    bench.write("samuel.toml", &format!("default_methodology = \"tdd\"\n{config}"));
    bench.ok(&["run", "init"]);
    let status = bench.ok(&["run", "status", "--json"]).json();
    assert_eq!(status["data"]["methodology"], "tdd-strict");
    assert!(bench.samuel(&["doctor"]).stdout.contains("samuel.toml is valid; the methodology is tdd-strict"));
    let vars = bench.ok(&["run", "vars", "--yes", "--json"]).json().to_string();
    assert!(vars.contains(r#""Methodology":{"Name":"tdd-strict","Source":"samuel-tdd"}"#), "{vars}");

    // In a fresh clone the plugin is not there, and can be installed.
    std::fs::remove_dir_all(bench.path(".samuel/plugins")).unwrap();
    let ran = bench.ok(&["run", "status"]);
    says(&ran.stderr, &["told without it", "samuel install ./plugins/samuel-tdd"]);
    bench.samuel(&["run", "ralph", "status"]).fails(1);
    bench.ok(&["install", "plugins/samuel-tdd", "--yes"]);
    bench.ok(&["run", "status"]);
}

#[test]
fn a_methodology_whose_plugin_was_changed_does_not_run() {
    let bench = with_tdd("");
    bench.ok(&["run", "tdd", "init"]);
    let manifest = bench.read(".samuel/plugins/samuel-tdd/samuel-plugin.toml");
    bench.write(".samuel/plugins/samuel-tdd/samuel-plugin.toml", &manifest.replace("echo red", "touch ran"));
    let ran = start_tdd(&bench, "true", &[]);
    assert_eq!((ran.code, ran.stderr.contains("changed: samuel-plugin.toml")), (78, true), "{ran:?}");
    assert!(!bench.path("ran").exists());
}

#[test]
fn two_plugins_cannot_provide_methodologies_of_one_name() {
    let bench = with_tdd("");
    source(&bench, "other-tdd", "tdd-lenient", "");
    let ran = bench.samuel(&["install", "plugins/other-tdd", "--yes"]).ends(2);
    let said = "the plugin other-tdd provides a methodology \"tdd\", and so does the plugin samuel-tdd";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    source(&bench, "my-ralph", "rw", "");
    let ran = bench.samuel(&["plugin", "validate", "plugins/my-ralph"]);
    assert!(ran.stderr.contains("the methodology that is built in has it"), "{}", ran.stderr);
}

#[test]
fn a_methodology_is_made_with_the_prompts_that_are_built_in_and_runs_as_it_is() {
    let bench = Bench::with_tasks(&["One"]);
    let made = bench.ok(&["plugin", "new", "careful", "--kind", "methodology"]).stdout;
    assert!(made.starts_with("Created a plugin of kind methodology: "), "{made}");
    says(&made, &["wrote templates/prompt.md.tmpl", "Next: read its README.md, then `samuel install`"]);
    says(&bench.ok(&["plugin", "validate", "careful"]).stdout, &["careful 0.1.0 is valid"]);
    let installed = bench.ok(&["install", "careful", "--yes"]).stdout;
    says(&installed, &["Next: make a plan for it with `samuel run careful init`"]);
    let prompt = |name: &[&str]| bench.ok(&[&["run"], name, &["prompt", "--yes"]].concat()).stdout;
    bench.ok(&["run", "careful", "init"]);
    bench.ok(&["run", "careful", "enqueue", "--", "One"]);
    says(&prompt(&["careful"]), &["# One task: 1 One"]);
    let refused = bench.samuel(&["plugin", "new", "status", "--kind", "methodology"]).fails(2);
    says(&refused.stderr, &["\"status\" cannot be the name of a methodology"]);
    assert!(!bench.path("status").exists(), "nothing is made of a name that means a command");
    let refused =
        bench.samuel(&["plugin", "new", "more", "--kind", "methodology", "--point", "quality.check"]);
    says(&refused.fails(2).stderr, &["a methodology handles no hook point of its own", "Leave out --point"]);
}
