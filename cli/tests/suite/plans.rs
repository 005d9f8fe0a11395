//! One plan for each methodology of a project.

use crate::{
    bench::says,
    methodology::{start_tdd, with_tdd},
};

const OWN: &str = ".samuel/run/tdd-strict/prd.toon";
const FIRST: &str = ".samuel/run/prd.toon";

#[test]
fn two_methodologies_have_their_own_plans_in_either_order_and_whatever_tables_there_are() {
    for order in [["ralph", "tdd"], ["tdd", "ralph"]] {
        let bench = with_tdd("");
        let config = bench.read("samuel.toml");
        let tables = ["", "[methodology.ralph]\n[methodology.tdd-strict]\n"];
        for (name, table) in order.iter().zip(tables) {
            bench.write("samuel.toml", &format!("{config}\n{table}"));
            bench.ok(&["run", name, "init"]);
            bench.ok(&["run", name, "enqueue", &format!("Of {name}")]);
        }
        let is_tdd_first = order[0] == "tdd";
        assert_eq!(bench.path(OWN).exists(), !is_tdd_first);
        assert!(bench.path(FIRST).exists());
        for table in tables {
            bench.write("samuel.toml", &format!("{config}\n{table}"));
            for (name, other) in [("ralph", "tdd"), ("tdd", "ralph")] {
                let listed = bench.ok(&["run", name, "tasks"]).stdout;
                assert!(listed.contains(&format!("Of {name}")), "{listed}");
                assert!(!listed.contains(&format!("Of {other}")), "{listed}");
            }
        }
        let other = if is_tdd_first { "tdd-strict" } else { "ralph" };
        let asked = if is_tdd_first { "ralph" } else { "tdd" };
        let told = format!("Other plan{other}, {FIRST}: 0 of 1 completed").replace("plan", "plan ");
        says(&bench.ok(&["run", asked, "status"]).stdout, &[&told]);
        let told = if is_tdd_first { format!("of tdd-strict, is at {FIRST}") } else { OWN.to_owned() };
        says(&bench.samuel(&["doctor"]).stdout, &[&told]);
    }
}

#[test]
fn what_to_do_next_names_the_methodology_where_it_is_not_the_default_one() {
    let bench = with_tdd("");
    says(
        &bench.samuel(&["run", "tdd"]).fails(1).text(),
        &["samuel run tdd-strict init", "run tdd-strict pilot"],
    );
    says(&bench.ok(&["run", "tdd", "init"]).stdout, &["`samuel run tdd-strict enqueue <TITLE>`"]);
    says(&bench.ok(&["run", "tdd", "status"]).stdout, &["`samuel run tdd-strict convert` or"]);
    says(&bench.samuel(&["run", "tdd", "done", "7"]).fails(1).stderr, &["`samuel run tdd-strict tasks`"]);
    bench.ok(&["run", "init"]);
    says(&bench.ok(&["run", "status"]).stdout, &["`samuel run convert` or `samuel run enqueue`"]);
    says(&bench.samuel(&["run", "done", "7"]).fails(1).stderr, &["`samuel run tasks`"]);
}

#[test]
fn an_agent_reaches_the_plan_of_its_run_and_a_name_on_the_command_line_wins() {
    let bench = with_tdd("");
    for name in ["ralph", "tdd"] {
        bench.ok(&["run", name, "init"]);
        bench.ok(&["run", name, "enqueue", "First"]);
        bench.ok(&["run", name, "enqueue", "Second"]);
    }
    let agent = "[ \"$SAMUEL_METHODOLOGY\" = tdd-strict ] && \"$SAMUEL_BINARY\" run done 1 && \
                 \"$SAMUEL_BINARY\" run skip 2 && \"$SAMUEL_BINARY\" run enqueue Found && \
                 \"$SAMUEL_BINARY\" run skip 3 && \"$SAMUEL_BINARY\" run ralph skip 2";
    let ran = start_tdd(&bench, agent, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let stands = |path: &str| bench.read(path);
    assert!(stands(OWN).contains("Found") && stands(OWN).contains("completed"), "{}", stands(OWN));
    let first = bench.ok(&["run", "ralph", "status", "--json"]).json()["data"]["tasks"].clone();
    assert_eq!((first["pending"].clone(), first["skipped"].clone()), (1.into(), 1.into()), "{first}");
    // Outside of a run, or of its project, the variable says nothing.
    let ran = bench.samuel_where("SAMUEL_METHODOLOGY", "tdd-strict", &["run", "status", "--json"]);
    assert_eq!(ran.json()["data"]["methodology"], "ralph");
}

#[test]
fn a_loop_of_one_methodology_keeps_the_loops_and_new_plans_of_another_out() {
    let bench = with_tdd("");
    for name in ["ralph", "tdd"] {
        bench.ok(&["run", name, "init"]);
        bench.ok(&["run", name, "enqueue", "First"]);
    }
    bench.write("prd.md", "# P\n\n## Tasks\n\n- [ ] 1.0 Other\n");
    let command = "run=\"$SAMUEL_BINARY run ralph\"; $run init --force 2> init.txt; echo $? >> codes.txt; \
                   $run start --yes --agent-command true 2> start.txt; echo $? >> codes.txt; \
                   $run convert prd.md --force 2> convert.txt; echo $? >> codes.txt; \
                   \"$SAMUEL_BINARY\" run done 1";
    let before = bench.read(FIRST);
    let ran = start_tdd(&bench, command, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        bench.read("codes.txt"),
        "75\n75\n75\n",
        "{}{}",
        bench.read("init.txt"),
        bench.read("start.txt")
    );
    for told in ["init.txt", "start.txt", "convert.txt"] {
        says(&bench.read(told), &["of tdd-strict"]);
    }
    assert_eq!(bench.read(FIRST), before);
}

#[test]
fn a_second_directory_that_cannot_be_written_is_named_and_no_plan_is_touched() {
    let bench = with_tdd("");
    bench.ok(&["run", "init"]);
    let before = bench.read(FIRST);
    // Root may write anywhere, but not below a file.
    bench.write(".samuel/run/tdd-strict", "");
    let ran = bench.samuel(&["run", "tdd", "init"]);
    assert_ne!(ran.code, 0);
    says(&ran.stderr, &[".samuel/run/tdd-strict"]);
    assert_eq!(bench.read(FIRST), before);
}

#[test]
fn a_plan_of_a_methodology_that_is_gone_is_named_and_kept() {
    let bench = with_tdd("");
    bench.ok(&["run", "tdd", "init"]);
    bench.ok(&["run", "tdd", "enqueue", "First"]);
    bench.ok(&["uninstall", "samuel-tdd"]);
    let before = bench.read(FIRST);
    let ran = bench.samuel(&["run", "tdd-strict", "start", "--yes"]).fails(2);
    says(&ran.stderr, &["methodology not found: \"tdd-strict\"", FIRST, "Install the plugin"]);
    for args in [&["run"][..], &["run", "status"]] {
        let ran = bench.samuel(args).fails(1);
        says(&ran.stderr, &[&format!("another plan, of tdd-strict, is at {FIRST}: 0 of 1 task completed")]);
    }
    assert_eq!(bench.read(FIRST), before);
    bench.ok(&["run", "tdd-strict", "done", "1"]);
    bench.ok(&["run", "init"]);
    assert!(bench.path(".samuel/run/ralph/prd.toon").exists());
}

#[test]
fn seed_004_phase_3_every_subcommand_inherits_the_methodology() {
    let bench = with_tdd("");
    for name in ["ralph", "tdd-strict"] {
        bench.ok(&["run", name, "init"]);
        for title in ["First", "Second", "Third"] {
            bench.ok(&["run", name, "enqueue", title]);
        }
    }
    let ralph = bench.read(FIRST);
    bench.ok(&["run", "tdd-strict", "done", "1"]);
    bench.ok(&["auto", "tdd", "skip", "2"]);
    bench.ok(&["run", "tdd-strict", "block", "3", "--reason", "waits"]);
    for id in ["1", "2", "3"] {
        bench.ok(&["run", "tdd-strict", "reset", id]);
    }
    bench.ok(&["run", "tdd-strict", "task", "add", "4", "Fourth"]);
    assert_eq!(bench.read(FIRST), ralph);
    assert!(bench.read(OWN).contains("Fourth"));
    // Without a name the default one's is meant.
    bench.ok(&["run", "done", "1"]);
    assert_ne!(bench.read(FIRST), ralph);
}

#[test]
fn what_the_agents_of_two_methodologies_record_reaches_the_plan_of_their_run() {
    let tables = ["", "[methodology.ralph]\n[methodology.tdd-strict]\n"];
    for (order, default) in [(["ralph", "tdd"], "tdd-strict"), (["tdd", "ralph"], "ralph")] {
        let bench = with_tdd("");
        let config = bench.read("samuel.toml");
        let configure = |table: &str| {
            let text = format!("default_methodology = \"{default}\"\n{config}\n{table}");
            bench.write("samuel.toml", &text);
        };
        for (name, table) in order.iter().zip(tables) {
            configure(table);
            bench.ok(&["run", name, "init"]);
            for title in ["First", "Second"] {
                bench.ok(&["run", name, "enqueue", &format!("{title} of {name}")]);
            }
        }
        for (name, table) in ["ralph", "tdd"].into_iter().zip(tables.into_iter().rev()) {
            configure(table);
            // One way is that of the scripted agent, the other that of an agent's shell.
            let script = format!(
                "[[calls]]\ntask = \"1\"\nsteps = [{{ done = {{}} }}, {{ skip = {{ task = \"2\" }} }}, \
                 {{ enqueue = {{ title = \"Found by {name}\" }} }}]\n\
                 [[calls]]\ntask = \"3\"\nsteps = [{{ run = {{ command = \
                 \"\\\"$SAMUEL_BINARY\\\" run enqueue 'Last of {name}' && \
                 \\\"$SAMUEL_BINARY\\\" run done 3 && \\\"$SAMUEL_BINARY\\\" run skip 4\" }} }}]\n"
            );
            bench.write("script.toml", &script);
            let agent = ["--agent", "scripted", "--agent-command", "script.toml", "--yes", "--pause", "0"];
            let ran = bench.samuel(&[&["run", name, "start"][..], &agent].concat());
            assert_eq!(ran.code, 0, "{order:?} {name}: {ran:?}");
        }
        for table in tables {
            configure(table);
            for (name, other) in [("ralph", "tdd"), ("tdd", "ralph")] {
                let listed = bench.ok(&["run", name, "tasks", "--json"]).json()["data"].to_string();
                let found = format!("Found by {name}");
                let last = format!("Last of {name}");
                says(&listed, &["First of ", "Second of ", &found, &last]);
                assert!(!listed.contains(&format!("by {other}")), "{listed}");
                assert!(!listed.contains(&format!("of {other}")), "{listed}");
                let status = bench.ok(&["run", name, "status", "--json"]).json()["data"]["tasks"].clone();
                assert_eq!((&status["completed"], &status["skipped"]), (&2.into(), &2.into()), "{status}");
            }
        }
    }
}

#[test]
fn a_hook_of_a_run_is_told_its_methodology_and_reaches_its_plan() {
    let bench = with_tdd("");
    for name in ["ralph", "tdd"] {
        bench.ok(&["run", name, "init"]);
        bench.ok(&["run", name, "enqueue", "First"]);
    }
    let hook = "echo $SAMUEL_METHODOLOGY > told.txt";
    bench.write(
        ".samuel/hooks.yml",
        &format!("version: 1\nhooks:\n  session_start:\n    - command: {hook}\n"),
    );
    start_tdd(&bench, "\"$SAMUEL_BINARY\" run done 1", &[]).ends(0);
    assert_eq!(bench.read("told.txt"), "tdd-strict\n");
}

#[test]
fn a_plan_that_is_lost_leaves_its_directory_to_its_methodology() {
    let bench = with_tdd("");
    bench.ok(&["run", "tdd", "init"]);
    bench.ok(&["run", "tdd", "enqueue", "First"]);
    std::fs::remove_file(bench.path(FIRST)).unwrap();
    bench.ok(&["run", "ralph", "init"]);
    assert!(bench.path(".samuel/run/ralph/prd.toon").exists());
    assert!(!bench.path(FIRST).exists());
    bench.ok(&["run", "tdd", "restore"]);
    says(&bench.ok(&["run", "tdd", "tasks"]).stdout, &["First"]);
    assert!(bench.path(FIRST).exists());
}
