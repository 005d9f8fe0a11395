//! What the prompt has of the PRD and the plan, and what it consists of.

use serde_json::Value;

use crate::bench::{Bench, says};

const PRD: &str = "# Notes\n\nAn application.\n\n## Goals\n\nStart in 10 ms.\n\n## Non-goals\n\nNo cloud.\n\n## Appendix\n\nA long story.\n\n## Tasks\n\n\
    One step at a time.\n\n### 1 Storage\n\nNotes live in one file.\n\n#### 1.1 Write\n\n**Acceptance:**\n- It survives a crash\n- \
    It is fast\n\n#### 1.2 Read\n";

/// A project whose plan was made of `docs/prd.md`.
fn converted() -> Bench {
    let bench = Bench::empty();
    bench.write("docs/prd.md", PRD);
    bench.ok(&["run", "init", "--prd", "docs/prd.md"]);
    bench
}

fn prompt(bench: &Bench) -> String {
    bench.ok(&["run", "prompt"]).stdout
}

#[test]
fn the_prompt_has_the_acceptance_the_group_and_the_sections_of_the_prd_around_the_task() {
    let bench = converted();
    let prompt = prompt(&bench);
    says(
        &prompt,
        &[
            "\nIt is done when all of this holds:\n\n- [ ] It survives a crash\n- [ ] It is fast\n",
            "\n`1` Storage (tasks in it: 2)\n",
            "\nNotes live in one file.\n",
            "\n- `1.2` Read (pending)\n",
            "- The file that the task context names as `prd`: the PRD that the plan was made from.",
            "\n## PRD\n\n[samuel:",
            " begin: the PRD]\nFile: docs/prd.md\n```markdown\n## Tasks\n\nOne step at a time.\n\n## Goals\n\nStart in 10 ms.\n\n\
             ## Non-goals\n\nNo cloud.\n\n## Appendix\n\nA long story.\n```\n",
        ],
    );
    bench.ok(&["run", "done", "1.1"]);
    says(&self::prompt(&bench), &["# One task: 1.2 Read\n", "\n- `1.1` Write (completed)\n"]);
    let context = bench.ok(&["run", "vars", "--json"]).json()["data"].clone();
    assert_eq!(context["State"]["Parent"]["Title"], "Storage");
    assert_eq!(context["Paths"]["SourcePRD"], bench.path("docs/prd.md").display().to_string());
}

#[test]
fn a_budget_cuts_the_prd_and_none_leaves_it_out() {
    let bench = converted();
    let with = |tokens: u32| {
        bench.configure(&format!("context = {{ prd_tokens = {tokens} }}"));
        prompt(&bench)
    };
    let cut = with(18);
    says(
        &cut,
        &[
            "## Goals\n\nStart in 10 ms.\n```\n... \"Non-goals\" (lines 9-11), \"Appendix\" (lines 13-15) left out\n",
        ],
    );
    let none = with(0);
    assert!(!none.contains("## PRD") && !none.contains("Start in 10 ms."), "{none}");
    assert!(none.contains("names as `prd`: the PRD"), "{none}");
}

#[test]
fn a_prd_that_is_gone_is_said_and_stops_nothing() {
    let bench = converted();
    std::fs::remove_file(bench.path("docs/prd.md")).unwrap();
    says(&prompt(&bench), &["\nFile: docs/prd.md\n[samuel:", "] The file is not there any more.\n"]);
    std::os::unix::fs::symlink("/etc/hostname", bench.path("docs/prd.md")).unwrap();
    says(&prompt(&bench), &["] It cannot be read: a link on the way to it leads out of the project.\n"]);
    let ran = bench.start("\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"", &["--max-iterations", "1"]);
    assert_eq!(bench.status("1.1"), "completed", "{ran:?}");
}

#[test]
fn a_template_of_the_project_places_the_prd_itself() {
    let bench = converted();
    let template =
        "{{ range .State.Siblings }}{{ .ID }} {{ .Status }}{{ end }}\n\n{{ .Project.PRD }}\n\nGo.\n";
    bench.write(".samuel/templates/ralph/prompt.md.tmpl", template);
    let prompt = prompt(&bench);
    says(&prompt, &["\n1.2 pending\n\n[samuel:", "```\n[samuel:", " end]\n\nGo.\n"]);
    assert_eq!(prompt.matches("Start in 10 ms.").count(), 1, "{prompt}");
    assert!(!prompt.contains("## PRD"), "{prompt}");
}

#[test]
fn the_stats_of_a_prompt_are_those_of_its_sections() {
    let bench = converted();
    bench.configure("context = { prd_tokens = 18 }");
    let before = bench.files();
    let ran = bench.ok(&["run", "prompt", "--stats", "--json"]);
    assert_eq!(bench.files(), before);
    let data = ran.json()["data"].clone();
    assert_eq!((&data["task"]["id"], &data["stats"]["method"]), (&"1.1".into(), &"characters/4".into()));
    let sections = data["stats"]["sections"].as_array().unwrap();
    let titles: Vec<&str> = sections.iter().filter_map(|section| section["title"].as_str()).collect();
    for title in
        ["", "One task: 1.1 Write", "The task", "Rules", "Context", "Task context", "PRD", "Project snapshot"]
    {
        assert!(titles.contains(&title), "{title} is not in {titles:?}");
    }
    let sum = |key: &str| sections.iter().filter_map(|section| section[key].as_u64()).sum::<u64>();
    assert_eq!(sum("characters"), data["stats"]["characters"].as_u64().unwrap());
    let total = data["stats"]["tokens"].as_u64().unwrap();
    assert!((total..total + sections.len() as u64).contains(&sum("tokens")), "{} {total}", sum("tokens"));
    let prd = sections.iter().find(|section| section["title"] == "PRD").unwrap();
    let left_out: &Value = &prd["quotations"][0]["left_out"];
    assert_eq!(left_out, "\"Non-goals\" (lines 9-11), \"Appendix\" (lines 13-15)");

    let text = bench.ok(&["run", "prompt", "--stats"]).stdout;
    says(
        &text,
        &[
            "section",
            "\n(how to read it)",
            "\nOne task: 1.1 Write",
            "\n  PRD ",
            "\ntotal ",
            "\nTokens are an estimate, characters/4: each model counts in its own way.\n",
            "\nLeft out\n  PRD: \"Non-goals\" (lines 9-11), \"Appendix\" (lines 13-15)\n",
        ],
    );
    bench.ok(&["run", "done", "1.1"]);
    bench.ok(&["run", "done", "1.2"]);
    let ran = bench.samuel(&["run", "prompt", "--stats"]).fails(1);
    assert!(ran.stderr.contains("there is no next prompt"), "{ran:?}");
}

#[test]
fn templates_are_exported_with_their_mark_and_never_overwritten_unasked() {
    let bench = converted();
    let before = prompt(&bench);
    let data = bench.ok(&["run", "prompt", "--export", "--json"]).json()["data"].clone();
    let [path, discovery] =
        ["prompt", "discovery-prompt"].map(|name| format!(".samuel/templates/ralph/{name}.md.tmpl"));
    assert_eq!(data["written"], serde_json::json!([path, discovery]));
    let text = bench.read(&path);
    assert!(text.starts_with("{{/* Copied from Samuel 2.0.0, sha256:"), "{text}");
    let without_marks = |prompt: &str| {
        let differs = ["[samuel:", "generated_at: "];
        let lines = prompt.lines().filter(|line| !differs.iter().any(|part| line.contains(part)));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without_marks(&bench.ok(&["run", "prompt", "--yes"]).stdout), without_marks(&before));
    let looked = bench.samuel(&["doctor"]).stdout;
    says(&looked, &["ok       templates       2 templates of the project in place of built-in ones\n"]);

    bench.write(&path, &format!("{text}Mine.\n"));
    std::fs::remove_file(bench.path(&discovery)).unwrap();
    let before = bench.files();
    let ran = bench.samuel(&["run", "prompt", "--export"]).fails(1);
    says(&ran.stderr, &["prompt.md.tmpl\" already", "pass --force to replace it"]);
    assert!(bench.files() == before, "a file was written");
    bench.ok(&["run", "prompt", "--export", "--force"]);
    assert_eq!(bench.read(&path), text);
}

#[test]
fn the_doctor_flags_stale_templates_with_file_and_line_and_what_to_do() {
    let bench = converted();
    bench.ok(&["run", "prompt", "--export"]);
    let path = ".samuel/templates/ralph/prompt.md.tmpl";
    let older = bench.read(path).replace("Samuel 2.0.0, sha256:", "Samuel 1.9.0, sha256:0");
    bench.write(path, &older.replace("run done", "run finish"));
    bench.write(
        ".samuel/templates/ralph/discovery-prompt.md.tmpl",
        "Read .claude/auto/prd.json and `samuel run enqueue`.\n\n{{ if .Mode.Focus }}{{ .Mode.Foucs }}{{ end }}\n",
    );
    let looked = bench.samuel(&["doctor"]).stdout;
    says(
        &looked,
        &[
            "warning  templates       2 templates of the project in place of built-in ones, not all of it up to date\n",
            " .samuel/templates/ralph/prompt.md.tmpl: it does not tell the agent to run `run done`",
            " .samuel/templates/ralph/prompt.md.tmpl:1: it was copied from a template of Samuel 1.9.0",
            " .samuel/templates/ralph/discovery-prompt.md.tmpl:1: it names prd.json",
            " .samuel/templates/ralph/discovery-prompt.md.tmpl:1: it names .claude/",
            " .samuel/templates/ralph/discovery-prompt.md.tmpl:3: `.Mode.Foucs` is not defined; did you mean `Focus`?",
            "run `samuel run prompt --export`, and carry your changes over",
            "--> ",
        ],
    );
}
