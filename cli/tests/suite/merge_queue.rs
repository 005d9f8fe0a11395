//! What waits to be landed: listed, held, released, dropped and landed by hand, and what lanes leave.

use std::sync::Arc;

use samuel_core::{
    clock::SystemClock,
    model::{Role, TaskId},
    project::Project,
    state::{Actor, LandingClaim, Mutation},
};

use crate::bench::{AtTerminal, Bench, Beside, wait_for_file};

/// The run that is gone, and one before it.
pub(crate) const RUN: &str = "20260101T000000Z-0a1b2c3d";
const OLD: &str = "20251231T000000Z-0a1b2c3d";

/// Makes a change as the run does, and returns its number.
pub(crate) fn change(bench: &Bench, mutation: Mutation) -> u64 {
    let project = Project::open(bench.root(), None, Arc::new(SystemClock::new())).unwrap();
    project.plan_store().mutate(mutation, Actor::Runtime).unwrap().revision
}

/// A project in a repository in which lanes of a run that is gone have submitted work on the first tasks.
pub(crate) fn with_submitted(titles: &[&str], submitted: &[&str]) -> Bench {
    let bench = Bench::with_tasks(titles);
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    submitted.iter().for_each(|id| _ = submit(&bench, id));
    bench
}

/// Has a lane submit a commit, and returns the token of its claim and the commit.
pub(crate) fn submit(bench: &Bench, id: &str) -> (u64, String) {
    let worker = format!("{RUN}/lane-{id}");
    let token = change(bench, Mutation::Claim { task: TaskId::new(id).into(), worker });
    let (branch, base) = (format!("samuel/{RUN}/{id}-{token}"), bench.git(&["rev-parse", "HEAD"]));
    bench.git(&["checkout", "--quiet", "-b", &branch]);
    bench.write(&format!("made-{id}"), "x\n");
    bench.git(&["add", &format!("made-{id}")]);
    bench.git(&["commit", "--quiet", "--message", &format!("Task {id}")]);
    let commit = bench.git(&["rev-parse", "HEAD"]);
    bench.git(&["checkout", "--quiet", "main"]);
    let task = TaskId::new(id);
    change(
        bench,
        Mutation::Submit { task, token, branch, commit: commit.clone(), base, tree: None, iteration: None },
    );
    (token, commit)
}

#[test]
fn what_waits_is_listed_held_released_and_dropped_by_people() {
    let bench = with_submitted(&["First", "Second", "Third"], &["1", "2"]);
    let listed = bench.ok(&["run", "queue"]).stdout;
    assert!(listed.starts_with("2 tasks wait to be landed\n"), "{listed}");
    assert!(listed.contains("1 First\n      waits: nobody lands what was submitted\n"), "{listed}");
    assert!(listed.contains("`samuel run queue land` lands what was submitted"), "{listed}");
    let held = bench.ok(&["run", "queue", "hold", "1", "--reason", "release freeze"]).stdout;
    assert!(held.starts_with("1 is held; `samuel run queue release 1` lets it land (change "), "{held}");
    let listed = bench.ok(&["run", "queue"]).stdout;
    assert!(
        listed.contains("held: the user (") && listed.contains(") holds it: release freeze\n"),
        "{listed}"
    );
    let document = bench.ok(&["run", "queue", "--json"]).json();
    let entries = document["data"]["entries"].as_array().unwrap();
    let places: Vec<_> = entries.iter().map(|entry| (&entry["task"], &entry["place"])).collect();
    assert_eq!(places, [(&"2".into(), &"waits".into()), (&"1".into(), &"held".into())]);
    assert!(bench.ok(&["run", "tasks"]).stdout.contains(&format!("(submitted by {RUN}/lane-1, held since ")));
    let again = bench.ok(&["run", "queue", "hold", "1"]).stdout;
    assert_eq!(again, "1 is held; `samuel run queue release 1` lets it land\n");
    bench.ok(&["run", "queue", "release", "1"]);
    let dropped = bench.ok(&["run", "queue", "drop", "2", "--reason", "not like this"]).stdout;
    assert!(dropped.starts_with("2 is pending again (change "), "{dropped}");
    assert_eq!(bench.status("2"), "pending");
    assert!(bench.ok(&["run", "tasks"]).stdout.contains(&format!("kept as samuel/{RUN}/2-")));
    let history = bench.ok(&["run", "show", "1"]).stdout;
    assert!(history.contains("hold: release freeze") && history.contains("unhold"), "{history}");
    let refused = bench.samuel(&["run", "queue", "hold", "3"]).fails(1).stderr;
    assert!(refused.contains("the work on task 3 is not in the merge queue"), "{refused}");
    assert!(refused.contains("`samuel run queue`"), "{refused}");
    assert_eq!(
        bench.samuel(&["run", "queue", "drop", "9", "--json"]).json()["error"]["code"],
        "E_TASK_NOT_FOUND"
    );
}

#[test]
fn agents_neither_hold_nor_release_nor_drop_nor_land() {
    let bench = with_submitted(&["First"], &["1"]);
    let before = std::fs::read(bench.prd()).unwrap();
    for args in [
        &["queue", "hold", "1"][..],
        &["queue", "release", "1"],
        &["queue", "drop", "1"],
        &["queue", "land"],
        &["merge"],
        &["clean"],
    ] {
        let ran = bench.samuel_where("SAMUEL_RUN_ID", "r", &[&["run"], args, &["--json"]].concat());
        assert_eq!(ran.json()["error"]["code"], "E_TASK_DENIED", "{args:?}");
    }
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
}

#[test]
fn a_plain_start_says_how_submitted_work_lands_and_landing_does_it() {
    let bench = with_submitted(&["First", "Second"], &["1"]);
    bench.configure("quality_checks = [\"test -e made-1\"]");
    bench.git(&["commit", "--quiet", "--all", "--message", "Check"]);
    let started = bench.start("cat > /dev/null; touch made-1; $SAMUEL_BINARY run done $SAMUEL_TASK_ID", &[]);
    assert_eq!(started.code, 3, "{started:?}");
    let told = "lanes have submitted work that has not landed (task 1), which this run leaves alone";
    assert!(
        started.stderr.contains(told) && started.stderr.contains("`samuel run queue land`"),
        "{started:?}"
    );
    assert_eq!((bench.status("1"), bench.status("2")), ("in_progress".into(), "completed".into()));
    let head = bench.git(&["rev-parse", "HEAD"]);
    let landed = bench.ok(&["run", "queue", "land", "--yes"]).stdout;
    assert!(landed.contains("landed: 1 on samuel/") && landed.contains("` merges it"), "{landed}");
    assert_eq!(bench.git(&["rev-parse", "HEAD"]), head, "the checkout stays");
    assert_eq!(bench.status("1"), "completed");
    assert_eq!(bench.ok(&["run", "queue"]).stdout.lines().count(), 1);
    let again = bench.ok(&["run", "queue", "land", "--yes"]).stdout;
    assert!(again.starts_with("nothing has landed\n"), "{again}");
}

#[test]
fn landing_asks_about_checks_and_no_agent() {
    let bench = with_submitted(&["First"], &["1"]);
    bench.configure("quality_checks = [\"true\"]");
    bench.git(&["commit", "--quiet", "--all", "--message", "Check"]);
    let refused = bench.samuel(&["run", "queue", "land"]).ends(78).stderr;
    assert!(refused.contains("quality check 1: true") && !refused.contains("agent "), "{refused}");
    // What was trusted of runs allows it, whichever agent they have now.
    bench.ok(&["trust", "--yes"]);
    bench.configure("quality_checks = [\"true\"]\nagent = \"codex\"");
    bench.git(&["commit", "--quiet", "--all", "--message", "Agent"]);
    bench.ok(&["run", "queue", "land"]);
    bench.configure("quality_checks = [\"true\", \"false\"]");
    let nothing = bench.ok(&["run", "queue", "land"]).stdout;
    assert!(nothing.starts_with("nothing has landed\n"), "nothing waits that would execute: {nothing}");
}

#[test]
fn starts_loops_while_landing_asks_for_trust() {
    let bench = with_submitted(&["First", "Second"], &["1"]);
    bench.configure("quality_checks = [\"true\"]");
    bench.git(&["commit", "--quiet", "--all", "--message", "Check"]);
    let mut landing = AtTerminal::spawn(&bench, &["run", "queue", "land"]);
    assert!(landing.wait_for("[y/N]"));
    let started = bench.start("cat > /dev/null; $SAMUEL_BINARY run done $SAMUEL_TASK_ID", &[]);
    assert_eq!((started.code, bench.status("2")), (3, "completed".to_owned()), "{started:?}");
    landing.type_in("y\n");
    let (code, shown) = landing.end();
    assert_eq!((code, bench.status("1")), (0, "completed".to_owned()), "{shown}");
}

#[test]
fn report_of_landing_names_no_other_run() {
    let bench = with_submitted(&["First", "Second"], &["1"]);
    let started = bench.start("cat > /dev/null; $SAMUEL_BINARY run done $SAMUEL_TASK_ID", &[]);
    assert_eq!((started.code, bench.status("2")), (3, "completed".to_owned()), "{started:?}");
    bench.ok(&["run", "queue", "land", "--yes"]);
    let page = bench.ok(&["run", "report"]);
    assert!(!page.stderr.contains("made no iteration"), "{page:?}");
}

#[test]
fn work_whose_checks_fail_comes_back_from_a_landing_by_hand() {
    let bench = with_submitted(&["First", "Second"], &["1", "2"]);
    bench.configure("quality_checks = [\"test ! -e made-1\"]");
    bench.git(&["commit", "--quiet", "--all", "--message", "Check"]);
    let document = bench.ok(&["run", "queue", "land", "--yes", "--json"]).json();
    assert_eq!(document["data"]["landed"][0]["task"], "2", "{document}");
    assert_eq!(document["data"]["returned"][0]["task"], "1", "{document}");
    assert_eq!((bench.status("1"), bench.status("2")), ("pending".into(), "completed".into()));
}

#[test]
fn what_is_held_does_not_land_and_the_landing_says_so() {
    let bench = with_submitted(&["First", "Second"], &["1", "2"]);
    bench.ok(&["run", "queue", "hold", "2"]);
    let ran = bench.samuel(&["run", "queue", "land", "--yes"]).ends(3);
    assert!(ran.stderr.contains("not all that was submitted has landed"), "{ran:?}");
    assert_eq!((bench.status("1"), bench.status("2")), ("completed".into(), "in_progress".into()));
    bench.ok(&["run", "queue", "release", "2"]);
    bench.ok(&["run", "queue", "land", "--yes"]);
    assert_eq!(bench.status("2"), "completed");
}

#[test]
fn a_landing_that_was_cut_off_is_settled_by_landing_whether_the_branch_moved_or_not() {
    for has_moved in [false, true] {
        let bench = with_submitted(&["First"], &[]);
        let (token, commit) = submit(&bench, "1");
        let old = bench.git(&["rev-parse", "main"]);
        bench.git(&["branch", "target", "main"]);
        let tree = bench.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
        let merge = ["commit-tree", "-p", &old, "-p", &commit, "-m", "Merge", &tree];
        let new = bench.git(&merge);
        let role =
            change(&bench, Mutation::Claim { task: Role::Merge.into(), worker: format!("{RUN}/queue") });
        let claims = vec![LandingClaim { task: TaskId::new("1"), token, commit, landed: new.clone() }];
        let into = "target".to_owned();
        change(&bench, Mutation::Landing { role, into, old: old.clone(), new: new.clone(), claims });
        if has_moved {
            bench.git(&["update-ref", "refs/heads/target", &new, &old]);
        }
        let listed = bench.ok(&["run", "queue"]).stdout;
        assert!(listed.contains("landing: its landing was cut off"), "{listed}");
        let refused = bench.samuel(&["run", "queue", "drop", "1"]).fails(75).stderr;
        assert!(refused.contains("being landed"), "{refused}");
        bench.ok(&["run", "queue", "land", "--yes", "--into", "target"]);
        assert_eq!(bench.git(&["rev-parse", "target"]), new);
        assert_eq!(bench.status("1"), "completed");
    }
}

#[test]
fn lanes_lists_what_they_left_and_clean_removes_only_what_has_landed() {
    let bench = with_submitted(&["First", "Second", "Third"], &["1", "2"]);
    bench.ok(&["run", "queue", "drop", "2"]);
    bench.ok(&["run", "queue", "land", "--yes"]);
    let (_, third) = submit(&bench, "3");
    // Work that somebody squashed would look like this to git: another commit has it.
    let old = format!("samuel/{OLD}/9-9");
    bench.git(&["branch", &old, "main"]);
    bench.git(&["update-ref", "refs/samuel/rescue/old/8-8", &third]);
    // Anybody may have pushed it, and may remove it again.
    bench.git(&["update-ref", "refs/remotes/origin/wip", &third]);
    let document = bench.ok(&["run", "lanes", "--json"]).json();
    let branches = document["data"]["branches"].as_array().unwrap();
    let standing = |name: &str| {
        let of = |branch: &&serde_json::Value| branch["name"].as_str().unwrap().starts_with(name);
        branches.iter().find(of).unwrap_or_else(|| panic!("{name}: {document}"))["standing"].clone()
    };
    assert_eq!(standing(&format!("samuel/{RUN}/2-")), "left");
    assert_eq!(standing(&format!("samuel/{RUN}/3-")), "waits");
    assert_eq!(standing(&old), "landed");
    assert_eq!(standing("refs/samuel/rescue/old/8-8"), "left");
    assert_eq!(document["data"]["work_trees"], serde_json::json!([]), "that of the queue is gone");
    let text = bench.ok(&["run", "lanes"]).stdout;
    assert!(text.contains("no loop is at work; work lands on samuel/"), "{text}");
    assert!(text.contains("not merged: 1 commit on no branch of yours"), "{text}");
    let cleaned = bench.ok(&["run", "clean"]).stdout;
    for told in [
        &*format!("removed {old}\n"),
        "kept refs/samuel/rescue/old/8-8: it has 1 commit that is on no branch of yours\n",
        ": task 3 waits to be landed\n",
    ] {
        assert!(cleaned.contains(told), "{told}: {cleaned}");
    }
    let left = bench.git(&[
        "for-each-ref",
        "--format=%(refname)",
        &format!("refs/heads/samuel/{OLD}"),
        &format!("refs/heads/samuel/{RUN}"),
        "refs/samuel",
    ]);
    let left: Vec<&str> = left.lines().collect();
    assert_eq!(left.len(), 3, "{left:?}");
    for (left, id) in left.iter().zip(["2", "3"]) {
        assert!(left.starts_with(&format!("refs/heads/samuel/{RUN}/{id}-")), "{left}");
    }
    // Once all is on a branch of the user's, nothing has to stay.
    bench.ok(&["run", "queue", "land", "--yes"]);
    let result = document["data"]["into"].as_str().unwrap();
    bench.git(&["merge", "--quiet", result]);
    bench.git(&["merge", "--quiet", "--no-edit", left[0]]);
    let cleaned = bench.ok(&["run", "clean"]).stdout;
    assert!(!cleaned.contains("kept "), "{cleaned}");
    assert_eq!(bench.git(&["for-each-ref", "refs/heads/samuel", "refs/samuel"]), "");
    assert_eq!(bench.ok(&["run", "lanes"]).stdout, "no lanes have left anything here\n");
}

#[test]
fn squashed_work_has_landed_as_another_commit_and_its_branch_is_removed() {
    let bench = with_submitted(&["First"], &["1"]);
    bench.configure("parallel = { merge = \"squash\" }");
    bench.git(&["commit", "--quiet", "--all", "--message", "Squash"]);
    bench.ok(&["run", "queue", "land", "--yes"]);
    let document = bench.ok(&["run", "lanes", "--json"]).json();
    let branches = document["data"]["branches"].as_array().unwrap();
    let of_task = branches.iter().find(|branch| branch["task"] == "1");
    assert_eq!(of_task.map(|branch| &branch["standing"]), Some(&"landed".into()), "{document}");
    let cleaned = bench.ok(&["run", "clean"]).stdout;
    assert!(cleaned.contains(&format!("removed samuel/{RUN}/1-")), "{cleaned}");
}

#[test]
fn listing_workspaces_runs_no_gpg() {
    let bench = with_submitted(&["First"], &[]);
    let (token, commit) = submit(&bench, "1");
    let old = bench.git(&["rev-parse", "main"]);
    let tree = bench.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
    let signed = format!(
        "tree {tree}\nparent {old}\nauthor A <a@b> 0 +0000\ncommitter A <a@b> 0 +0000\n\
         gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n\
         Squashed\n\nSamuel-Claim: {token}\n"
    );
    let file = bench.write("signed", &signed).display().to_string();
    let new = bench.git(&["hash-object", "-t", "commit", "-w", "--", &file]);
    let role = change(&bench, Mutation::Claim { task: Role::Merge.into(), worker: format!("{RUN}/queue") });
    let claims = vec![LandingClaim { task: TaskId::new("1"), token, commit, landed: new.clone() }];
    change(&bench, Mutation::Landing { role, into: "target".to_owned(), old, new: new.clone(), claims });
    bench.git(&["update-ref", "refs/heads/target", &new]);
    let canary = bench.path("canary");
    let program = bench.write("gpg.sh", &format!("#!/bin/sh\ntouch {}; exit 1\n", canary.display()));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    bench.git(&["config", "gpg.program", &program.display().to_string()]);
    bench.git(&["config", "log.showSignature", "true"]);
    let document = bench.ok(&["run", "lanes", "--json"]).json();
    let branches = document["data"]["branches"].as_array().unwrap();
    let of_task = branches.iter().find(|branch| branch["task"] == "1");
    assert_eq!(of_task.map(|branch| &branch["landed_on"]), Some(&"target".into()), "{document}");
    assert!(!canary.exists(), "the program was executed");
    bench.git(&["log", "-1", "--format=%B", &new]);
    assert!(canary.exists(), "git executes the program by default");
}

#[test]
fn clean_leaves_branches_alone_that_are_the_users_or_of_another_project_in_the_repository() {
    let bench = with_submitted(&["First"], &["1"]);
    let others =
        ["samuel/login-fix".to_owned(), "samuel/team/login-fix".to_owned(), format!("samuel/{OLD}/result")];
    for other in &others {
        bench.git(&["branch", other, "main"]);
    }
    bench.ok(&["run", "queue", "land", "--yes"]);
    let document = bench.ok(&["run", "lanes", "--json"]).json();
    let into = document["data"]["into"].as_str().unwrap().to_owned();
    bench.git(&["merge", "--quiet", &into]);
    let cleaned = bench.ok(&["run", "clean"]).stdout;
    assert!(cleaned.contains(&format!("removed {into}\n")), "{cleaned}");
    assert!(
        cleaned.contains(&format!("kept samuel/{OLD}/result: it is of a run that is not known here")),
        "{cleaned}"
    );
    assert!(!cleaned.contains("login-fix"), "{cleaned}");
    let left = bench.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/samuel"]);
    let mut wanted = others.to_vec();
    wanted.sort();
    assert_eq!(left.lines().collect::<Vec<_>>(), wanted);
}

#[test]
fn an_order_for_several_tasks_is_carried_out_for_all_or_for_none() {
    let bench = with_submitted(&["First", "Second"], &["1", "2"]);
    let refused = bench.samuel(&["run", "queue", "drop", "1", "2", "99", "--json"]);
    assert_eq!(refused.json()["error"]["code"], "E_TASK_NOT_FOUND");
    assert_eq!((bench.status("1"), bench.status("2")), ("in_progress".into(), "in_progress".into()));
    let dropped = bench.ok(&["run", "queue", "drop", "1", "2", "1"]).stdout;
    assert_eq!(dropped.lines().count(), 2, "{dropped}");
    assert_eq!((bench.status("1"), bench.status("2")), ("pending".into(), "pending".into()));
}

#[test]
fn a_landing_is_interrupted_while_a_command_gets_its_work_tree_ready() {
    let bench = with_submitted(&["First"], &["1"]);
    let up = bench.tmp().join("up");
    bench.configure(&format!("parallel = {{ setup = [\"touch {}; sleep 600\"] }}", up.display()));
    bench.git(&["commit", "--quiet", "--all", "--message", "Setup"]);
    let run = bench.spawn(&["run", "queue", "land", "--yes"]);
    wait_for_file(&up);
    run.signal(rustix::process::Signal::INT);
    assert_eq!(run.code(), 130);
    assert_eq!(bench.status("1"), "in_progress");
    assert!(bench.ok(&["run", "queue"]).stdout.contains("nobody lands what was submitted"));
}

#[test]
fn what_the_queue_checked_last_keeps_no_work_tree() {
    let bench = with_submitted(&["First"], &["1"]);
    bench.configure("quality_checks = [\"false\"]");
    bench.git(&["commit", "--quiet", "--all", "--message", "Check"]);
    bench.ok(&["run", "queue", "land", "--yes"]);
    assert_eq!(bench.status("1"), "pending");
    let document = bench.ok(&["run", "lanes", "--json"]).json();
    assert_eq!(document["data"]["work_trees"], serde_json::json!([]), "{document}");
}

#[test]
fn a_second_interrupt_leaves_a_landing_at_once_that_waits_for_a_git() {
    let bench = with_submitted(&["First"], &["1"]);
    let (up, programs) = (bench.tmp().join("up"), bench.tmp().join("programs"));
    std::fs::create_dir(&programs).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nPATH='{path}'; export PATH\ncase \" $* \" in *' merge-tree '*) trap '' TERM INT; touch {}; \
         while test -d {}; do sleep 0.1; done;; esac\nexec git \"$@\"\n",
        up.display(),
        bench.tmp().display()
    );
    std::fs::write(programs.join("git"), script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(programs.join("git"), mode).unwrap();
    let mut command = bench.command(&["run", "queue", "land", "--yes"]);
    command.env("PATH", format!("{}:{path}", programs.display())).stderr(std::process::Stdio::null());
    let mut run = Beside::of(&mut command);
    wait_for_file(&up);
    run.signal(rustix::process::Signal::INT);
    // One that comes at once does not count as another.
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert!(run.child.try_wait().unwrap().is_none(), "it waits for git");
    let begun = std::time::Instant::now();
    run.signal(rustix::process::Signal::INT);
    assert_eq!(run.code(), 130);
    assert!(begun.elapsed() < std::time::Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(bench.status("1"), "in_progress");
    let listed = bench.ok(&["run", "queue"]).stdout;
    assert!(listed.contains("nobody lands what was submitted"), "{listed}");
}

#[test]
fn a_branch_that_git_does_not_remove_stays_with_what_git_says() {
    let bench = with_submitted(&["First"], &[]);
    let old = format!("samuel/{OLD}/9-9");
    bench.git(&["branch", &old, "main"]);
    let lock = bench.path(&format!(".git/refs/heads/{old}.lock"));
    std::fs::write(&lock, "").unwrap();
    let cleaned = bench.ok(&["run", "clean"]).stdout;
    let (_, why) = cleaned.split_once(&format!("kept {old}: ")).unwrap_or_else(|| panic!("{cleaned}"));
    assert!(why.starts_with("git update-ref failed: ") && !why.contains("it was moved"), "{cleaned}");
    std::fs::remove_file(lock).unwrap();
    assert!(bench.ok(&["run", "clean"]).stdout.contains(&format!("removed {old}\n")));
}

#[test]
fn what_lanes_left_is_asked_of_a_repository_and_of_nothing_else() {
    let bare = Bench::with_tasks(&["First"]);
    assert_eq!(bare.ok(&["run", "lanes"]).stdout, "no lanes have left anything here\n");
    let bench = with_submitted(&["First"], &["1"]);
    bench.git(&["config", "remote.origin.promisor", "true"]);
    for args in [&["run", "lanes"][..], &["run", "clean"]] {
        let told = bench.samuel(args).fails(1).stderr;
        assert!(
            told.contains("its repository is a partial clone"),
            "what is not known is not nothing: {told}"
        );
    }
}

#[test]
fn a_landing_into_another_branch_that_was_cut_off_is_told_with_that_branch() {
    let bench = with_submitted(&["First"], &[]);
    let (token, commit) = submit(&bench, "1");
    let old = bench.git(&["rev-parse", "main"]);
    bench.git(&["branch", "target", "main"]);
    let tree = bench.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
    let new = bench.git(&["commit-tree", "-p", &old, "-p", &commit, "-m", "Merge", &tree]);
    let role = change(&bench, Mutation::Claim { task: Role::Merge.into(), worker: format!("{RUN}/queue") });
    let claims = vec![LandingClaim { task: TaskId::new("1"), token, commit, landed: new.clone() }];
    let into = "target".to_owned();
    change(&bench, Mutation::Landing { role, into, old: old.clone(), new: new.clone(), claims });
    bench.git(&["update-ref", "refs/heads/target", &new, &old]);
    // This one would land on a branch of its own.
    let document = bench.ok(&["run", "queue", "land", "--yes", "--json"]).json();
    assert_eq!(document["data"]["into"], "target", "{document}");
    assert_eq!(document["data"]["landed"][0]["commit"], new, "{document}");
    assert_eq!(bench.status("1"), "completed");
    assert!(bench.read(".samuel/run/progress.md").contains(&format!("landed on target as {new}")));
}

#[test]
fn what_a_run_has_left_lands_on_the_branch_that_it_was_submitted_for() {
    let bench = with_submitted(&["First", "Second"], &[]);
    bench.git(&["branch", "target", "main"]);
    let agent = "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; $SAMUEL_BINARY run done $SAMUEL_TASK_ID";
    bench.start(agent, &["--jobs", "2", "--into", "target", "--task", "1"]).ends(0);
    submit(&bench, "2");
    assert_eq!(bench.ok(&["run", "lanes", "--json"]).json()["data"]["into"], "target");
    let document = bench.ok(&["run", "queue", "land", "--yes", "--json"]).json();
    assert_eq!(document["data"]["into"], "target", "{document}");
    assert!(bench.git(&["ls-tree", "--name-only", "target"]).contains("made-2"));
}
