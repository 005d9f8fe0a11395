//! The life of a clone, from one task to the next.

use std::fs;

use samuel_core::workspace::WorkNote;

use crate::workspace::kit::User;

#[tokio::test]
async fn work_reaches_the_branch_once_it_is_landed_and_not_before() {
    let user = User::new();
    let before = user.head();
    let workspace = user.opened().await;
    let commit =
        user.work(&workspace, "echo two > b.txt; git add b.txt; git commit -qm Two").await.unwrap().unwrap();
    assert_eq!((user.head(), user.read("b.txt")), (before.clone(), None));
    assert_eq!(user.git("rev-parse refs/samuel/work/0123"), commit);
    assert_eq!(workspace.land().await.unwrap().as_deref(), Some(&*commit));
    assert_eq!((user.head(), user.read("b.txt").unwrap().as_str()), (commit.clone(), "two\n"));
    assert_eq!(user.git("status --porcelain"), "");
    assert_eq!(user.git("log -1 --format='%an %ae %s' HEAD"), "Ada ada@example.org Two");
    assert_eq!(workspace.land().await.unwrap(), None);
}

#[tokio::test]
async fn what_is_left_uncommitted_is_committed_and_ignored_files_stay() {
    let user = User::new();
    let workspace = user.opened().await;
    let line = "mkdir target; echo built > target/x; echo 2 >> a.txt; rm ci/check.sh; git checkout -q ci; echo n > new";
    user.work(&workspace, line).await.unwrap().unwrap();
    workspace.land().await.unwrap();
    assert_eq!(
        user.git("show --format='%s %an' --name-status HEAD"),
        "Commit what was left uncommitted Ada\n\nM\ta.txt\nA\tnew"
    );
    assert!(user.read("target/x").is_none());
    assert_eq!(workspace.begin().await.unwrap(), [""; 0]);
    assert!(workspace.work_dir().join("target/x").exists(), "the cache is warm");
    let (again, told) = user.open().await;
    assert!(told.is_empty() && again.work_dir().join("target/x").exists());
}

#[tokio::test]
async fn what_a_check_leaves_is_gone_before_the_next_task() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "echo 2 > b.txt").await.unwrap();
    user.sh(
        &workspace.work_dir(),
        "echo c > coverage.txt; echo x > a.txt; git update-index --assume-unchanged a.txt",
    );
    workspace.land().await.unwrap();
    workspace.begin().await.unwrap();
    assert!(!workspace.work_dir().join("coverage.txt").exists());
    assert_eq!(fs::read_to_string(workspace.work_dir().join("a.txt")).unwrap(), "one\n");
    assert_eq!(user.kept(), [""; 0]);
}

#[tokio::test]
async fn commits_a_change_that_keeps_all_times() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "echo old > r; touch -d 2001-01-01 r").await.unwrap();
    // Git compares size, inode and seconds, which are the same if both turns are in one second.
    let commit = user.work(&workspace, "echo new 1<>r; touch -d 2001-01-01 r").await.unwrap().unwrap();
    assert_eq!(user.git(&format!("show {commit}:r")), "new");
}

#[tokio::test]
async fn failed_work_is_kept_under_a_reference_and_the_next_attempt_begins_without_it() {
    let user = User::new();
    let workspace = user.opened().await;
    let commit = user.work(&workspace, "echo bad > b.txt").await.unwrap().unwrap();
    workspace.fail().await.unwrap();
    let told = workspace.begin().await.unwrap();
    let expected =
        format!("the work up to {} did not pass: it is kept as refs/samuel/kept/r1-1", &commit[..12]);
    assert_eq!(told, [expected]);
    assert_eq!(user.git("rev-parse refs/samuel/kept/r1-1"), commit);
    assert!(!workspace.work_dir().join("b.txt").exists());
    user.work(&workspace, "echo good > b.txt").await.unwrap();
    workspace.land().await.unwrap();
    assert_eq!(user.read("b.txt").unwrap(), "good\n");
}

#[tokio::test]
async fn work_that_nobody_judged_stays_for_the_next_iteration() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "echo 1 > b.txt").await.unwrap();
    assert_eq!(workspace.begin().await.unwrap(), [""; 0]);
    user.work(&workspace, "test -f b.txt; echo 2 > c.txt").await.unwrap();
    workspace.land().await.unwrap();
    assert_eq!(user.git("rev-list --count HEAD"), "3");
}

#[tokio::test]
async fn work_that_an_agent_has_undone_does_not_reach_the_branch_in_place_of_what_is_checked() {
    let user = User::new();
    let workspace = user.opened().await;
    let head = user.head();
    let commit = user.work(&workspace, "echo bad > b.txt").await.unwrap().unwrap();
    assert_eq!(user.work(&workspace, &format!("git reset -q --hard {head}")).await.unwrap(), None);
    assert_eq!(workspace.land().await.unwrap(), None);
    assert_eq!((user.head(), user.git("rev-parse refs/samuel/kept/r1-1")), (head, commit));
    user.work(&workspace, "echo good > b.txt").await.unwrap();
    workspace.land().await.unwrap();
    assert_eq!(
        (user.read("b.txt").unwrap().as_str(), user.git("rev-list --count HEAD").as_str()),
        ("good\n", "2")
    );
}

#[tokio::test]
async fn after_a_done_plan_nothing_is_left_and_otherwise_all_of_it_is() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "echo 1 > b.txt").await.unwrap();
    workspace.land().await.unwrap();
    assert!(workspace.close(false).await.unwrap().is_empty() && user.directory().exists());
    assert!(workspace.close(true).await.unwrap().is_empty());
    assert!(!user.directory().exists());
    assert_eq!(user.git("for-each-ref refs/samuel"), "");

    let workspace = user.opened().await;
    let commit = user.work(&workspace, "echo 2 > b.txt").await.unwrap().unwrap();
    let told = workspace.close(true).await.unwrap();
    assert!(told[0].contains("was not checked"), "{told:?}");
    assert_eq!(user.git("rev-parse refs/samuel/kept/r1-1"), commit);
    assert!(user.directory().exists(), "it has a commit that is in no branch of the user's");
}

#[tokio::test]
async fn what_no_reference_of_the_user_has_keeps_the_clone() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(
        &workspace,
        "git switch -qc aside; echo 1 > b.txt; git add .; git commit -qm Aside; git switch -q main; echo 1 > c.txt",
    )
    .await
    .unwrap();
    workspace.land().await.unwrap();
    workspace.close(true).await.unwrap();
    assert!(workspace.work_dir().join(".git").exists());
}

#[tokio::test]
async fn a_project_below_the_top_has_its_place_in_the_clone() {
    let user = User::new();
    user.write("sub/b.txt", "b\n");
    user.git("add .");
    user.git("commit -qm Sub");
    let mut setup = user.setup();
    setup.root = user.tree().join("sub");
    let (workspace, _) = samuel_core::workspace::CloneWorkspace::open(setup).await.unwrap();
    assert!(workspace.work_dir().ends_with("tree/sub") && workspace.work_dir().join("b.txt").exists());
    user.work(&workspace, "echo c > c.txt; echo d > ../d.txt").await.unwrap();
    workspace.land().await.unwrap();
    assert_eq!(
        (user.read("sub/c.txt").unwrap().as_str(), user.read("d.txt").unwrap().as_str()),
        ("c\n", "d\n")
    );
}

#[tokio::test]
async fn trees_that_a_clone_would_not_do_justice_are_refused_in_words() {
    use samuel_core::Coded as _;
    let told = async |user: &User| {
        let error = user.refused().await;
        format!("{error} | {} | {}", error.code().name, error.help().prose())
            .replace(&user.tree().display().to_string(), "<root>")
    };
    let user = User::new();
    user.write("a.txt", "changed\n");
    user.write("new.txt", "new\n");
    user.write("samuel.toml", "version = \"2\"\n");
    user.write(".samuel/run/prd.toon", "");
    user.write("target/x", "");
    assert_eq!(
        told(&user).await,
        "the work tree has changes that are in no commit, which a clone would not have: a.txt, new.txt | \
         E_WORKSPACE_DIRTY | Commit the changes or put them aside with `git stash -u`; or, without a sandbox, work in place: workspace = \
         \"in-place\" below [sandbox] in samuel.toml."
    );
    user.git("stash -qu");
    assert!(user.opened().await.begin().await.is_ok());
    user.git("switch -q --detach");
    assert!(told(&user).await.starts_with("<root> cannot have a clone as its workspace: no branch is checked out | E_WORKSPACE_UNFIT | Check out a branch"));
    user.git("switch -q --orphan fresh");
    assert!(told(&user).await.contains("it has no commit yet"));
    let user = User::new();
    fs::write(user.tree().join(".git/MERGE_HEAD"), user.head()).unwrap();
    assert!(told(&user).await.contains("a merge is under way"));
    let user = User::new();
    fs::remove_dir_all(user.tree().join(".git")).unwrap();
    assert!(told(&user).await.contains("it is in no git repository"));
}

#[tokio::test]
async fn submodules_tags_and_names_of_any_kind_survive() {
    let user = User::new();
    user.sh(&user.tree(), "git -c protocol.file.allow=always submodule --quiet add ./ sub 2>/dev/null || git -c protocol.file.allow=always submodule --quiet add $PWD sub; git commit -qm Sub; git tag v1; git tag -a -m Two v2");
    let workspace = user.opened().await;
    let line = "test $(git describe) = v2; printf x > \"$(printf 'a\\nb \\377\"')\"; mkdir ü; echo x > ü/x; chmod +x a.txt; ln -s nowhere link";
    user.work(&workspace, line).await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
    assert_eq!(user.git("status --porcelain"), "");
    assert_eq!(user.git("ls-tree HEAD sub").split(' ').next(), Some("160000"));
    assert_eq!(user.git("show --format= --name-only -z HEAD | tr -cd '\\000' | wc -c"), "4");
    assert!(user.tree().join("link").is_symlink());
}

#[tokio::test]
async fn an_agent_that_removes_the_clone_gets_another() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "rm -rf ../tree").await.unwrap_err();
    workspace.begin().await.unwrap();
    user.work(&workspace, "echo 1 > b.txt").await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
}

#[tokio::test]
async fn an_agent_that_removes_all_that_the_clone_stands_in_gets_another() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "rm -rf \"$(dirname \"$PWD\")\"").await.unwrap_err();
    workspace.begin().await.unwrap();
    user.work(&workspace, "echo 1 > b.txt").await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
}

#[tokio::test]
async fn locks_of_references_that_a_killed_git_left_hold_nothing_up() {
    let user = User::new();
    let workspace = user.opened().await;
    let left = "echo 1 > b.txt; touch .git/packed-refs.lock .git/refs/heads/main.lock .git/refs/tags/x.lock";
    user.work(&workspace, left).await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
    user.sh(&workspace.work_dir(), "touch .git/refs/heads/main.lock");
    assert_eq!(workspace.begin().await.unwrap(), [""; 0], "the clone stays where it is");
}

#[tokio::test]
async fn a_clone_in_which_git_fails_is_moved_aside() {
    let user = User::new();
    let workspace = user.opened().await;
    let error = user.work(&workspace, "echo 1 > b.txt; echo nonsense > .git/HEAD").await.unwrap_err();
    assert!(error.to_string().contains("git does not take it"), "{error}");
    workspace.begin().await.unwrap();
    user.work(&workspace, "echo 1 > b.txt; git add .; git commit -qm B").await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
    user.sh(&workspace.work_dir(), "rm .git/refs/heads/main; mkdir -p .git/refs/heads/main; git update-ref refs/heads/main/x HEAD 2>/dev/null || cp ../tree/.git/HEAD .git/refs/heads/main/x");
    workspace.begin().await.unwrap();
    user.work(&workspace, "test -f b.txt; echo 1 > c.txt").await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
}

#[tokio::test]
async fn several_workspaces_of_one_repository_do_not_meet() {
    let user = User::new();
    user.git("worktree add -q -b other ../other");
    let first = user.opened().await;
    let mut setup = user.setup();
    setup.root = user.path().join("other");
    setup.directory = user.path().join("state/workspaces/4567");
    let (second, _) = samuel_core::workspace::CloneWorkspace::open(setup).await.unwrap();
    let (one, other) =
        tokio::join!(user.work(&first, "echo 1 > b.txt"), user.work(&second, "echo 2 > b.txt"));
    one.unwrap().unwrap();
    other.unwrap().unwrap();
    let (one, other) = tokio::join!(first.land(), second.land());
    one.unwrap().unwrap();
    other.unwrap().unwrap();
    assert_eq!(user.read("b.txt").unwrap(), "1\n");
    assert_eq!(fs::read_to_string(user.path().join("other/b.txt")).unwrap(), "2\n");
    assert!(first.close(true).await.unwrap().is_empty() && second.close(true).await.unwrap().is_empty());
}

#[tokio::test]
async fn work_that_a_run_did_not_come_to_check_is_kept_by_the_next() {
    let user = User::new();
    let workspace = user.opened().await;
    let commit = user.work(&workspace, "echo 1 > b.txt").await.unwrap().unwrap();
    drop(workspace);
    let (workspace, told) = user.open().await;
    assert!(told[0].contains("it is kept as refs/samuel/kept/r1-1"), "{told:?}");
    assert_eq!(user.git("rev-parse refs/samuel/kept/r1-1"), commit);
    workspace.begin().await.unwrap();
    user.work(&workspace, "test ! -e b.txt; echo 2 > c.txt").await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
    assert!(user.read("b.txt").is_none() && user.read("c.txt").is_some());
}

#[tokio::test]
async fn shallow_source_is_copied_with_warning() {
    let user = User::new();
    user.git("commit -q --allow-empty -m More");
    user.sh(user.path(), "mv tree full && git clone -q --depth 1 file://$PWD/full tree");
    let (workspace, told) = user.open().await;
    assert_eq!(
        told,
        ["the repository is shallow: each workspace gets a copy of its objects instead of sharing them"]
    );
    let clone = workspace.work_dir();
    assert!(!clone.join(".git/objects/info/alternates").exists());
    user.work(&workspace, "test $(git rev-list --count HEAD) = 1 && echo 2 > b.txt").await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
    workspace.begin().await.unwrap();
    // The user gets the whole history while an agent is at work, which removes the note that it has not.
    workspace.turn_begins().await.unwrap();
    user.sh(&clone, "echo 3 > c.txt; rm .git/shallow");
    user.git("fetch -q --unshallow");
    workspace.collect(&WorkNote::default()).await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
    workspace.begin().await.unwrap();
    assert_eq!(user.sh(&clone, "git fsck --no-dangling && git rev-list --count HEAD"), "4");
    assert!(workspace.close(true).await.unwrap().is_empty() && !user.directory().exists());
}
