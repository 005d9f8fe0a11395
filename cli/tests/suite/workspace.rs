//! Runs whose agent works in a clone.

use crate::bench::{Bench, Ran, says};

/// A project with tasks, of which all but the plan is committed, and which is worked on in a clone.
fn bench(titles: &[&str], keys: &str) -> Bench {
    let bench = Bench::with_tasks(titles);
    let text = format!("version = \"2\"\n[methodology.ralph]\n{keys}\n[sandbox]\nworkspace = \"clone\"\n");
    bench.write("samuel.toml", &text);
    bench.write("a.txt", "one\n");
    bench.make_repository(&["samuel.toml", "a.txt"]);
    bench
}

#[test]
fn an_agent_in_a_clone_records_its_task_in_the_project_and_its_commit_reaches_the_branch() {
    let bench = bench(&["First", "Second"], "quality_checks = [\"test -f made-1\"]");
    let agent = format!(
        "test ! -e .samuel/run/prd.toon && test \"$SAMUEL_PROJECT_ROOT\" = \"$SAMUEL_WORKSPACE\" && touch made-$SAMUEL_TASK_ID && \
         git add -A && git commit -qm \"Make $SAMUEL_TASK_ID\" && \
         \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\" --commit-sha \"$(git rev-parse HEAD)\" && \
         test ! -e '{}'/made-$SAMUEL_TASK_ID",
        bench.root().display()
    );
    bench.start(&agent, &[]).ends(0);
    assert_eq!((bench.status("1").as_str(), bench.status("2").as_str()), ("completed", "completed"));
    assert_eq!(bench.git(&["log", "--format=%s"]), "Make 2\nMake 1\nStart");
    assert_eq!(bench.tasks()[1]["commit_sha"], bench.git(&["rev-parse", "HEAD"]));
    assert_eq!(bench.git(&["for-each-ref", "refs/samuel"]), "");
}

#[test]
fn names_directories_of_path_that_workspace_lacks() {
    for jobs in ["1", "2"] {
        let bench = bench(&["First"], "");
        bench.write(".venv/.gitignore", "*");
        bench.write(".venv/bin/tool", "");
        bench.write("bin/tool", "");
        bench.git(&["add", "bin"]);
        bench.git(&["commit", "--quiet", "--message", "Tool"]);
        let [missing, there] = [".venv/bin", "bin"].map(|name| bench.path(name).display().to_string());
        let path = format!("{missing}:{there}:{}", std::env::var("PATH").unwrap());
        let agent = "cat > /dev/null; \"$SAMUEL_BINARY\" run done 1";
        let args = [&bench.start_args(agent)[..], &["--jobs", jobs]].concat();
        let ran = bench.samuel_where("PATH", &path, &args);
        says(&ran.stderr, &[&format!("PATH has {missing}, which the workspace lacks")]);
        assert!(!ran.stderr.contains(&format!("PATH has {there},")), "{ran:?}");
    }
}

#[test]
fn vars_name_the_workspace_of_a_run() {
    for (keys, end) in [("", "/tree"), ("parallel.jobs = 2", "/lanes/lane-1.clone/tree")] {
        let bench = bench(&["First"], keys);
        let data = bench.ok(&["run", "vars", "--json"]).json()["data"].clone();
        let root = data["Project"]["Root"].as_str().unwrap().to_owned();
        assert!(root.contains("/workspaces/") && root.ends_with(end), "{root}");
        let paths = &data["Paths"];
        assert_eq!(paths["TaskContextFile"], format!("{root}/.samuel/run/task-context.toon"));
        assert_eq!(paths["PRDFile"], "", "the plan is not there");
        assert!(!data["Paths"].to_string().contains(&bench.root().display().to_string()), "{paths}");
    }
}

/// The agent and whoever looks at its workspace find the plan of the project, with and without the socket of the call.
#[test]
fn samuel_in_a_workspace_finds_its_project() {
    for keys in ["", "parallel.jobs = 2"] {
        let bench = bench(&["First"], keys);
        let agent = "S=\"$SAMUEL_BINARY\"; mkdir -p deep; \
                     ( cd deep; env -u SAMUEL_SOCKET -u SAMUEL_TOKEN $S run enqueue One ) && \
                     env -u SAMUEL_SOCKET -u SAMUEL_TOKEN -u SAMUEL_PROJECT_ROOT $S run enqueue Two && \
                     env -u SAMUEL_SOCKET -u SAMUEL_TOKEN -u SAMUEL_PROJECT_ROOT $S -C . run enqueue Three && \
                     $S -C . run enqueue Four; exit 1";
        let _ = bench.start(agent, &["--max-iterations", "1"]);
        let titles: Vec<String> = bench.tasks().iter().map(|task| task["title"].to_string()).collect();
        assert_eq!(titles.len(), 5, "{keys}: {titles:?}");
    }
}

#[test]
fn start_ignores_run_directory_in_place() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt"]);
    std::fs::remove_file(bench.path(".samuel/run/.gitignore")).unwrap();
    let agent =
        "echo two > a.txt; git add -A && git commit -qm All; \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";
    bench.start(agent, &[]).ends(0);
    assert_eq!(bench.git(&["log", "--format=%s"]), "All\nStart");
    assert_eq!(bench.git(&["ls-files", ".samuel/run"]), "");
}

#[test]
fn a_dirty_tree_is_refused_with_the_two_ways_out() {
    let bench = bench(&["First"], "");
    bench.write("a.txt", "two\n");
    let ran: Ran = bench.start("touch ../ran", &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let expected = "error: the work tree has changes that are in no commit, which a clone would not have: a.txt\n\
                    help: Commit the changes or put them aside with `git stash -u`; or, without a sandbox, work in place: workspace = \
                    \"in-place\" below [sandbox] in samuel.toml.";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(!bench.path("../ran").exists());
}

/// Says why nothing can be tried out in bubblewrap, where that is so.
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn bwrap_is_missing(bench: &Bench) -> bool {
    let ran = bench.samuel(&["run", "sandbox", "check", "--sandbox", "bwrap", "--json"]);
    let document = ran.json();
    let is_missing = ran.code != 0 && document["data"].is_null();
    if is_missing {
        println!("skipped: {}", document["error"]["message"]);
    }
    is_missing
}

#[test]
fn an_agent_and_its_checks_under_bubblewrap_reach_the_clone_and_nothing_else() {
    // What the agent tries leaves a line in a file of its clone for everything that it could do.
    let agent = "cd \"$SAMUEL_WORKSPACE\"; read -r P < .git/objects/info/alternates; P=${P%/.git/objects}; touch tried; \
                 test -e \"$P/.samuel\" && echo plan >> tried; \
                 cat \"$P/secret.txt\" 2>/dev/null && echo tree >> tried; \
                 { echo x > \"$P/.git/objects/planted\"; } 2>/dev/null && echo objects >> tried; \
                 test \"$(grep -c : /proc/net/dev)\" -gt 1 && echo network >> tried; \
                 env | grep -q HOST_SECRET && echo environment >> tried; \
                 cat .samuel/run/task-context.toon > /dev/null || echo context >> tried; \
                 echo two > a.txt; git add -A && git commit -qm Work; sleep 300 & exit 0";
    let bench = bench(
        &["First"],
        "sandbox = \"bwrap\"\nmax_iterations = 1\nquality_checks = [\"read -r P < .git/objects/info/alternates; touch ${P%/.git/objects}/out; test ! -s tried\"]",
    );
    if bwrap_is_missing(&bench) {
        return;
    }
    bench.write(".git/info/exclude", "secret.txt\n");
    bench.write("secret.txt", "hidden\n");
    let ran = bench.start(agent, &[]);
    let log = std::fs::read_dir(bench.path(".samuel/run/logs")).into_iter().flatten().flatten();
    let log: Vec<String> = log.map(|entry| entry.path().display().to_string()).collect();
    assert_eq!(bench.git(&["show", "HEAD:tried"]), "", "{ran:?} {log:?}");
    assert_eq!(bench.git(&["log", "--format=%s"]), "Work\nStart", "checked work reaches the branch: {ran:?}");
    assert!(!bench.path("out").exists() && !bench.path(".git/hooks/planted").exists());
}

#[test]
fn a_sandbox_that_cannot_do_what_is_set_is_refused_with_its_place() {
    for (keys, expected) in [
        ("egress = [\"http://x\"]", "samuel.toml:6:1: sandbox.egress: `http://x` is no host"),
        ("check_egress = [\"a b\"]", "samuel.toml:6:1: sandbox.check_egress: `a b` is no host"),
        (
            "gateway.anthropic = {}",
            "samuel.toml:6:1: sandbox.gateway: anthropic: its key is in no variable: ANTHROPIC_API_KEY",
        ),
        ("gateway.own = {}", "samuel.toml:6:1: sandbox.gateway: own: header is not set"),
        ("gateway.\"A b\" = {}", "sandbox.gateway.\"A b\": `A b` is no name of a gateway"),
        ("gateway.openai = { upstrem = \"x\" }", "sandbox.gateway.openai.upstrem"),
        ("mounts = [\"/\"]", "samuel.toml:6:1: sandbox.mounts: `/` holds all of your files"),
        ("mounts = [\"/nowhere/x\"]", "samuel.toml:6:1: sandbox.mounts: `/nowhere/x` does not exist"),
        (
            "memory = \"1g\"",
            "samuel.toml:6:1: sandbox.memory: bwrap does not hold it here: bubblewrap limits none; leave it out, or choose oci",
        ),
    ] {
        let bench = bench(&["First"], "sandbox = \"bwrap\"");
        let text =
            format!("version = \"2\"\n[methodology.ralph]\nsandbox = \"bwrap\"\n\n[sandbox]\n{keys}\n");
        bench.write("samuel.toml", &text);
        let ran = bench.start("touch ../ran", &[]);
        assert!(ran.code != 0 && ran.stderr.contains(expected), "{keys}: {ran:?}");
        assert!(!bench.path("../ran").exists());
    }
    let bench = bench(&["First"], "sandbox = \"bwrap\"");
    bench.write(
        "samuel.toml",
        "version = \"2\"\n[methodology.ralph]\nsandbox = \"bwrap\"\n[sandbox]\nworkspace = \"in-place\"\n",
    );
    let ran = bench.start("touch ../ran", &[]);
    let expected = "samuel.toml:5:1: sandbox.workspace: a sandbox keeps agents out of the project's work tree, so the workspace has to be a clone";
    assert!(ran.code != 0 && ran.stderr.contains(expected), "{ran:?}");
}

#[test]
fn where_runs_listen_is_no_mount_also_while_none_does() {
    let bench = bench(&["First"], "sandbox = \"bwrap\"");
    let login = bench.tmp().join("login");
    let sockets = login.join("samuel");
    std::fs::create_dir_all(&sockets).unwrap();
    let text = format!(
        "version = \"2\"\n[methodology.ralph]\nsandbox = \"bwrap\"\n\n[sandbox]\nmounts = [\"{}\"]\n",
        sockets.display()
    );
    bench.write("samuel.toml", &text);
    let ran = bench.samuel_where(
        "XDG_RUNTIME_DIR",
        &login.display().to_string(),
        &bench.start_args("touch ../ran"),
    );
    assert!(ran.code != 0 && ran.stderr.contains("leads to what Samuel keeps from agents"), "{ran:?}");
}

// Takes about 9 s: two times more than 40 probes, each a command of its own.
#[test]
fn a_check_of_the_sandbox_says_of_each_promise_whether_it_held() {
    let bench = bench(&["First"], "");
    if bwrap_is_missing(&bench) {
        return;
    }
    let ran = bench.ok(&["run", "sandbox", "check", "--sandbox", "bwrap"]);
    assert!(ran.stdout.starts_with("Sandbox bwrap, bubblewrap "), "{ran:?}");
    assert!(ran.stdout.contains("held     plan-rename") && !ran.stdout.contains("BROKEN"), "{ran:?}");
    assert!(ran.stdout.contains("unheld   memory is not limited: bubblewrap limits none\n"), "{ran:?}");
    let document = bench.ok(&["run", "sandbox", "check", "--sandbox", "bwrap", "--json"]).json();
    assert!(document["data"]["findings"].as_array().unwrap().len() >= 40, "{document}");
    assert_eq!(document["data"]["unheld"][0]["key"], "memory", "{document}");
    let doctor = bench.samuel(&["doctor"]);
    assert!(!doctor.stdout.contains("bubblewrap"), "nobody chose it: {doctor:?}");
}

#[test]
fn removes_bundle_lock_of_a_killed_git() {
    let bench = bench(&["First", "Second"], "");
    let agent = "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; \"$SAMUEL_BINARY\" run done $SAMUEL_TASK_ID";
    bench.start(agent, &["--max-iterations", "1"]);
    let vars = bench.ok(&["run", "vars", "--json"]).json();
    let tree = std::path::PathBuf::from(vars["data"]["Project"]["Root"].as_str().unwrap());
    std::fs::write(tree.with_file_name("work.bundle.lock"), "").unwrap();
    bench.start(agent, &[]).ends(0);
}

#[test]
fn keeps_clone_with_work_on_a_detached_head() {
    let bench = bench(&["First"], "");
    let agent = "cat > /dev/null; git checkout --quiet --detach; echo x > made; git add made; \
                 git commit --quiet --message Made; git checkout --quiet -; \"$SAMUEL_BINARY\" run done 1";
    let ran = bench.start(agent, &["--max-iterations", "1"]);
    let told = "commits that no branch has were not taken out: they stay in the clone";
    says(&format!("{}{}", ran.stdout, ran.stderr), &[told]);
    says(&bench.ok(&["run", "clean"]).stdout, &["it has commits that were not taken out"]);
}
