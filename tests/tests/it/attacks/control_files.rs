//! Agents that change what decides whether their work is good.
//!
//! The last iteration counts like the others: what is changed in it is seen
//! before the work is checked, and before anything is called completed.

use samuel_tests::says;
use serde_json::Value;

use crate::attacks::kit::{HANG, PASSES, Ran, SAMUEL, Target, git, ran};

/// A project with one task, a check that fails, a plugin, and an agent that
/// does what the file `agent` says.
fn project() -> Target {
    let target = Target::with_tasks(&["One"]);
    target.plugin("plugin", "lint", "quality.check", PASSES);
    target.ok(&["install", "plugin", "--yes"]);
    with_check(target)
}

/// Gives a project its check and its agent.
fn with_check(target: Target) -> Target {
    target.program("ci/check.sh", "exit 1\n");
    let agent = target.home().join("agent").display().to_string();
    let settings = format!(
        "[methodology.ralph]\nagent = \"command\"\nagent_command = [\"sh\", {agent:?}]\n\
         quality_checks = [\"sh ci/check.sh\"]\nmax_iterations = 1\npause = 0\n"
    );
    target.reconfigure("[methodology.ralph]\n", &settings);
    target
}

fn start(target: &Target, agent: &str) -> Ran {
    std::fs::write(target.home().join("agent"), format!("cat >/dev/null; {agent}")).unwrap();
    let ran = ran(target.samuel(&["run", "start", "--yes", "--json"]), HANG * 2);
    assert!(!ran.hung, "{agent}: {}", ran.text());
    ran
}

/// Makes sure how a run ended, and returns its report.
fn ended_as(ran: &Ran, code: i32, reason: &str) -> Value {
    let last = ran.text().lines().rev().find(|line| line.contains("\"report\"")).unwrap().to_owned();
    let report = serde_json::from_str::<Value>(&last).unwrap()["data"]["report"].take();
    assert_eq!((ran.code, &report["exit_reason"]), (Some(code), &reason.into()), "{}", ran.text());
    report
}

/// Makes sure that a run ended because control files were changed, and returns its report.
fn ended_as_changed(ran: &Ran) -> Value {
    ended_as(ran, 4, "control-files-changed")
}

/// Makes sure that nothing stands of a run whose agent completes its task and makes a
/// change: it ends because of the change that is told, and the task is pending again.
fn lets_nothing_stand(target: &Target, change: &str, told: &str) -> Ran {
    let ran = start(target, &format!("{SAMUEL} run done 1; {change}"));
    assert_eq!(ended_as_changed(&ran)["detail"], told, "{change}");
    assert_eq!(status(target), "pending", "{change}: {told}");
    ran
}

fn status(target: &Target) -> String {
    target.statuses().swap_remove(0)
}

#[test]
fn what_is_changed_in_the_last_iteration_lets_nothing_stand() {
    for (change, told) in [
        ("echo 'exit 0' > ci/check.sh", "changed: ci/check.sh (run by quality check `sh ci/check.sh`)"),
        (
            "rm ci/check.sh; echo 'exit 0' > new; mv new ci/check.sh",
            "changed: ci/check.sh (run by quality check `sh ci/check.sh`)",
        ),
        ("rm ci/check.sh", "missing: ci/check.sh (run by quality check `sh ci/check.sh`)"),
        ("sed -i 's/sh ci.check.sh/true/' samuel.toml", "changed: samuel.toml"),
        ("echo 'echo {}' >> .samuel/plugins/lint/hook.sh", "changed: .samuel/plugins/lint/hook.sh"),
        (
            "mkdir -p .samuel/templates/ralph; echo hi > .samuel/templates/ralph/prompt.md.tmpl",
            "new: .samuel/templates/ralph/prompt.md.tmpl",
        ),
        ("echo >> samuel.lock", "changed: samuel.lock"),
    ] {
        let target = project();
        lets_nothing_stand(&target, change, told);
        let journal = target.read(".samuel/run/journal.jsonl");
        let reason = format!("control files were changed before the work was checked: {told}");
        assert!(journal.contains(&reason), "the journal tells why the task is pending again: {change}");
    }
}

#[test]
fn a_check_that_exchanges_the_next_one_lets_nothing_stand() {
    let target = project();
    // The agent's own tests are what the first check runs.
    check_with(&target, "[\"sh tests.sh; true\", \"sh ci/check.sh\"]");
    let ran = start(&target, &format!("{SAMUEL} run done 1; echo \"echo exit 0 > ci/check.sh\" > tests.sh"));
    ended_as_changed(&ran);
    assert_eq!(status(&target), "pending");
}

#[test]
fn files_that_decide_nothing_may_change_until_the_end() {
    let target = project();
    target.program("ci/check.sh", "test -e made\n");
    target.write("notes.md", "");
    check_with(&target, "[\"sh ci/check.sh\", \"test -s notes.md\", \"timeout 60 grep -q more notes.md\"]");
    let agent =
        format!("{SAMUEL} run done 1; touch made ci/other.sh; echo more | tee plugin/hook.sh > notes.md");
    let ran = start(&target, &agent);
    ended_as(&ran, 0, "completed");
}

// Takes about 11 s: each of the 26 checks has a project and a run of its own.
#[test]
fn a_check_that_goes_to_its_script_is_watched_like_one_that_names_it() {
    for (check, executed) in [
        ("cd ci && ./check.sh", "ci/check.sh"),
        ("cd ci/deep && sh ../check.sh", "ci/deep/../check.sh"),
        ("(cd ./ci/deep/..; sh check.sh)", "ci/check.sh"),
        ("env -C ci ./check.sh", "ci/check.sh"),
        ("env --chdir=ci sh check.sh", "ci/check.sh"),
        ("sh $PWD/ci/check.sh", "ci/check.sh"),
        ("sh \"$(pwd)/ci/check.sh\"", "ci/check.sh"),
        ("sh ci/deep/../check.sh", "ci/deep/../check.sh"),
        ("cd \"$PWD\"/ci; sh check.sh", "ci/check.sh"),
        ("make -C ci -f all.mk", "ci/all.mk"),
        ("make -sC ci -f all.mk check", "ci/all.mk"),
        ("make --directory=ci --file=all.mk", "ci/all.mk"),
        ("CHECK=ci/check.sh; sh $CHECK", "ci/check.sh"),
        ("D=ci; sh $D/check.sh", "ci/check.sh"),
        ("CHECK=ci/check.sh sh -c 'sh $CHECK'", "ci/check.sh"),
        ("sh $(git rev-parse --show-toplevel)/ci/check.sh", "ci/check.sh"),
        ("cd \"$(git rev-parse --show-toplevel)/ci\" && sh check.sh", "ci/check.sh"),
        ("cd `git rev-parse --show-toplevel`; sh ci/check.sh", "ci/check.sh"),
        ("cd ci; for s in check; do sh $s.sh || exit 1; done", "ci/check.sh"),
        ("for f in ci/*.sh; do sh $f || exit 1; done", "ci/check.sh"),
        ("sh ci/check.s?", "ci/check.sh"),
        ("bash -c \"bash ci/{check,check}.sh\"", "ci/check.sh"),
        ("find ci -name \"*.sh\" -exec sh {} \\;", "ci/check.sh"),
        ("find ci -name \"*.sh\" -print0 | xargs -0 -n1 sh", "ci/check.sh"),
        ("cd ci && python3 -m check", "ci/check.py"),
        ("uv run ci/check.py", "ci/check.py"),
    ] {
        let target = with_check(Target::with_tasks(&["One"]));
        git(&target.root(), &["init", "--quiet"]);
        target.program("ci/check.sh", "#!/bin/sh\nexit 1\n");
        target.write("ci/deep/notes", "");
        target.write("ci/all.mk", "check:\n\texit 1\n");
        target.write("ci/check.py", "import sys; sys.exit(1)\n");
        check_with(&target, &format!("[{check:?}]"));
        let change =
            "printf '#!/bin/sh\\n' > ci/check.sh; : > ci/check.py; printf 'check:\\n\\ttrue\\n' > ci/all.mk";
        let told = format!("changed: {executed} (run by quality check `{check}`)");
        let ran = lets_nothing_stand(&target, change, &told);
        assert!(!ran.text().contains("does not exist"), "{check}: {}", ran.text());
    }
}

#[test]
fn a_script_that_comes_to_match_lets_nothing_stand() {
    let target = project();
    check_with(&target, "[\"sh ci/check.s?\"]");
    let told = "new: ci/check.s0 (run by quality check `sh ci/check.s?`)";
    lets_nothing_stand(&target, "echo exit 0 > ci/check.s0", told);
}

#[test]
fn what_cannot_be_told_from_a_checks_command_line_is_told_once() {
    let target = project();
    target.write("name", "ci/check.sh\n");
    let check = "sh $(cat name); sh \"$UNKNOWN\"";
    check_with(&target, &format!("[{check:?}, \"make test\"]"));
    let told = format!("quality check `{check}` executes what cannot be told from its command line");
    let ran = start(&target, "");
    // Of what is printed, quotes are escaped.
    let text = ran.text().replace("\\\"", "\"");
    assert_eq!(text.matches(&told).count(), 1, "{text}");
    let doctor = target.run(&["doctor"]).text();
    assert_eq!(doctor.matches(&told).count(), 1, "{doctor}");
    assert_eq!(doctor.matches("cannot be told").count(), 1, "{doctor}");
}

#[test]
fn a_path_through_a_directory_that_is_exchanged_leads_to_no_other_script() {
    let target = project();
    target.program("check.sh", "exit 1\n");
    check_with(&target, "[\"sh ./ci/../check.sh\"]");
    let change = "mkdir -p other/ci; echo 'exit 0' > other/check.sh; mv ci real; ln -s other/ci ci";
    let told = "changed: ci/../check.sh (run by quality check `sh ./ci/../check.sh`)";
    lets_nothing_stand(&target, change, told);
}

#[test]
fn a_script_that_a_check_names_and_that_only_the_agent_makes_lets_nothing_stand() {
    for (check, named) in
        [("sh new.sh", "new.sh"), ("./new.sh", "new.sh"), ("cd ci && sh new.sh", "new.sh or ci/new.sh")]
    {
        let target = project();
        check_with(&target, &format!("[{check:?}]"));
        let made = named.rsplit(' ').next().unwrap();
        let told = format!("new: {made} (run by quality check `{check}`)");
        let change = format!("printf '#!/bin/sh\\n' > {made}; chmod +x {made}");
        let ran = lets_nothing_stand(&target, &change, &told);
        let warning = format!(
            "quality check `{check}` executes {named}, which does not exist: the run ends when it appears"
        );
        assert!(ran.text().contains(&warning), "{}", ran.text());
    }
}

#[test]
fn a_file_that_a_check_only_reads_may_be_made_by_the_agent() {
    let target = project();
    check_with(&target, "[\"test -f made\", \"grep -q hi made\", \"cat ./made | wc -l\"]");
    let ran = start(&target, &format!("{SAMUEL} run done 1; echo hi > made; chmod +x made"));
    assert!(!ran.text().contains("does not exist"), "{}", ran.text());
    ended_as(&ran, 0, "completed");
}

/// Puts other checks in the place of the project's.
fn check_with(target: &Target, checks: &str) {
    target.reconfigure("[\"sh ci/check.sh\"]", checks);
}

/// A project in a repository of its own, whose check builds a program and runs it. With
/// `rules`, `.gitignore` is tracked and says that.
fn built(rules: &str) -> Target {
    let target = project();
    check_with(&target, &format!("[{BUILT:?}]"));
    target.write(
        "build.sh",
        "mkdir -p build\nprintf '#!/bin/sh\\n# %s\\n' $$ > build/new\nchmod +x build/new\nmv build/new build/tests\n",
    );
    git(&target.root(), &["init", "--quiet"]);
    git(&target.root(), &["add", "build.sh"]);
    if !rules.is_empty() {
        target.write(".gitignore", rules);
        git(&target.root(), &["add", ".gitignore"]);
    }
    git(&target.root(), &["commit", "--quiet", "--message", "Start"]);
    target
}

/// A check that builds what it runs.
const BUILT: &str = "sh build.sh && ./build/tests";

/// What is said of a check's file that is not watched.
fn not_watched(check: &str, path: &str) -> String {
    format!(
        "quality check `{check}` executes {path}, which git ignores and does not track: the agent may change"
    )
}

#[test]
fn a_program_that_is_built_and_ignored_may_change_in_every_iteration() {
    let target = built("/build/\n");
    target.reconfigure("max_iterations = 1", "max_iterations = 2");
    let told = not_watched(BUILT, "build/tests");
    // At the first start there is no such file, at the second there is.
    for first in [1, 3] {
        for task in first + usize::from(first == 1)..first + 2 {
            target.ok(&["run", "enqueue", &format!("{task}")]);
        }
        let next = format!("touch made{first}; {SAMUEL} run done $((${{next}} + {first}))");
        let ran = start(&target, &format!("sh build.sh; next=0; test -e made{first} && next=1; {next}"));
        let report = ended_as(&ran, 0, "completed");
        assert_eq!((report["iterations"].as_u64(), ran.text().matches(&told).count()), (Some(2), 1));
        let doctor = target.run(&["doctor"]);
        assert!(doctor.text().contains(&told), "{}", doctor.text());
    }
    let asked = target.run(&["run", "start"]).text();
    says(&asked, &["file build.sh: sha256:", "file build/tests: ignored by git, not watched"]);
}

#[test]
fn rules_that_an_agent_writes_do_not_make_a_script_its_own() {
    let ignore =
        "echo ci/ >> .gitignore; git add .gitignore; git -c user.name=A -c user.email=a commit -qm A";
    for rules in ["", "/build/\n"] {
        let target = built(rules);
        target.reconfigure(&format!("{BUILT:?}"), "\"sh ci/check.sh\"");
        git(&target.root(), &["add", "ci/check.sh"]);
        let untrack = "git rm -q --cached ci/check.sh";
        let ran =
            start(&target, &format!("{untrack}; {ignore}; echo exit 0 > ci/check.sh; {SAMUEL} run done 1"));
        assert_eq!(
            ended_as_changed(&ran)["detail"],
            "changed: ci/check.sh (run by quality check `sh ci/check.sh`)"
        );
        assert_eq!(status(&target), "pending");
        // What was prepared in one run is told at the start of the next.
        target.write("ci/check.sh", "exit 1\n");
        let ran = start(&target, "");
        assert!(ran.text().contains(&not_watched("sh ci/check.sh", "ci/check.sh")), "{}", ran.text());
    }
}

#[test]
fn a_program_that_only_rules_outside_of_the_history_ignore_is_watched() {
    for place in ["", ".git/info/exclude", ".gitignore", "build/.gitignore"] {
        let target = built("");
        if !place.is_empty() {
            target.write(place, "build/\n*\n");
        }
        let ran = start(&target, &format!("{SAMUEL} run done 1; sh build.sh"));
        let warning =
            format!("quality check `{BUILT}` executes build/tests, which does not exist: the run ends");
        assert!(ran.text().contains(&warning), "{place}: {}", ran.text());
        let told = format!("new: build/tests (run by quality check `{BUILT}`)");
        assert_eq!(ended_as_changed(&ran)["detail"], told, "{place}");
        assert_eq!(status(&target), "pending", "{place}");
    }
}

#[test]
fn what_is_samuels_own_is_watched_although_it_is_ignored() {
    let target = built("/build/\n/.samuel/\nsamuel.*\n");
    let script = ".samuel/plugins/lint/hook.sh";
    target.reconfigure(&format!("{BUILT:?}"), &format!("\"sh {script}\""));
    let told = format!("changed: {script} (run by quality check `sh {script}`)");
    lets_nothing_stand(&target, &format!("echo >> {script}"), &told);
}

#[test]
fn a_check_that_makes_what_it_executes_is_told_as_what_changed_it() {
    let target = built("");
    let ran = start(&target, &format!("{SAMUEL} run done 1"));
    let told = format!("new: build/tests (run by quality check `{BUILT}`)");
    assert_eq!(ended_as_changed(&ran)["detail"], told);
    let log = target.read(".samuel/run/progress.md");
    let line = "does not count: control files were changed while the quality checks ran, by a check itself";
    assert!(log.contains(line) && !log.contains("not asked"), "{log}");
    says(&ran.text(), &[".gitignore that git tracks, or let the check run a script"]);
}

#[test]
fn a_script_that_is_rewritten_while_it_runs_and_put_back_lets_nothing_stand() {
    let target = project();
    // A shell reads its script piece by piece: here the agent's tests exchange the rest.
    target.program("ci/check.sh", "sh tests.sh\nexit 1\n");
    check_with(&target, "[\"bash ci/check.sh\"]");
    let tests =
        "cp ci/check.sh saved\nprintf 'sh tests.sh\\ncp saved ci/check.sh; exit 0\\n' > ci/check.sh\n";
    let told = "written to: ci/check.sh (run by quality check `bash ci/check.sh`)";
    lets_nothing_stand(&target, &format!("cat > tests.sh <<'END'\n{tests}END\n"), told);
}

#[test]
fn a_check_that_exchanges_the_directory_of_the_next_one_keeps_it_from_running() {
    let target = project();
    check_with(&target, "[\"sh tests.sh; true\", \"sh ci/check.sh\"]");
    let tests = "mv ci real; mkdir ci; echo 'touch ran; rm -r ci; mv real ci; exit 0' > ci/check.sh";
    let ran = start(&target, &format!("{SAMUEL} run done 1; echo \"{tests}\" > tests.sh"));
    ended_as_changed(&ran);
    assert_eq!((status(&target).as_str(), target.path("ran").exists()), ("pending", false));
}

#[test]
fn an_agents_own_script_is_shown_and_ends_the_run_when_it_changes() {
    let target = project();
    target.write("agent.sh", "cat >/dev/null\necho '# more' >> agent.sh\n");
    target.reconfigure(&format!("{:?}", target.home().join("agent")), "\"agent.sh\"");
    let asked = target.run(&["run", "start"]);
    assert!(asked.text().contains("file agent.sh: sha256:"), "{}", asked.text());
    let ran = start(&target, "");
    assert_eq!(ended_as_changed(&ran)["detail"], "changed: agent.sh (run or read by the agent's command)");
}

#[test]
fn the_prompt_names_the_files_that_an_agent_must_leave_alone() {
    let target = project();
    std::fs::write(target.home().join("agent"), "cat > prompt").unwrap();
    let ran = ran(target.samuel(&["run", "start", "--yes"]), HANG * 2);
    let prompt = target.read("prompt");
    for name in ["samuel.toml", "samuel.lock", "ci/check.sh"] {
        assert!(prompt.contains(&format!("\n- `{name}`\n")), "{name}: {prompt}\n{}", ran.text());
    }
}

#[test]
fn no_program_that_an_agent_puts_into_the_project_is_run_by_its_name() {
    let target = project();
    check_with(&target, "[\"verify\"]");
    target.program("../home/bin/verify", "#!/bin/sh\nexit 1\n");
    let fake = "printf '#!/bin/sh\\ntouch fake\\n' > verify; chmod +x verify; mkdir -p bin; cp verify bin";
    std::fs::write(target.home().join("agent"), format!("cat >/dev/null; {SAMUEL} run done 1; {fake}"))
        .unwrap();
    let own = format!("{}:{}", target.home().join("bin").display(), std::env::var("PATH").unwrap());
    for path in [format!(":bin:./bin:{own}"), format!("bin::{own}:.")] {
        let mut command = target.samuel(&["run", "start", "--yes", "--json"]);
        command.env("PATH", path);
        let ran = ran(command, HANG * 2).ends(4);
        assert_eq!((status(&target).as_str(), target.path("fake").exists()), ("pending", false));
        assert!(ran.text().contains("not absolute: "), "{}", ran.text());
    }
}
