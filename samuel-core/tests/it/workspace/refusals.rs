//! Work that must not arrive, whatever it is in.

use samuel_core::{
    Coded as _,
    workspace::{CloneWorkspace, WorkspaceError},
};

use crate::workspace::kit::User;

/// Has an agent work that way, and returns what is said; the user's tree is as it was, and the next attempt works.
async fn refused(line: &str) -> String {
    let user = User::new();
    let (before, files) = (user.head(), user.git("ls-files"));
    let workspace = user.opened().await;
    let error = user.work(&workspace, line).await.unwrap_err();
    let WorkspaceError::Refused { refusal, clone, name } = &error else { panic!("{error}") };
    assert_eq!(error.code().name, "E_WORKSPACE_REFUSED");
    assert_eq!((user.head(), user.git("ls-files"), user.samuel_refs()), (before, files, Vec::new()));
    user.looks_around_safely();
    let objects = user.git("count-objects -v");
    assert!(
        objects.contains("packs: 0") && objects.contains("garbage: 0"),
        "nothing of it came in: {objects}"
    );
    assert!(clone.is_dir(), "the clone is kept");
    if name != "a whole" {
        user.sh(clone, &format!("git rev-parse --verify {name}"));
    }
    workspace.begin().await.unwrap();
    user.work(&workspace, "echo fine > fine.txt").await.unwrap();
    workspace.land().await.unwrap().unwrap();
    assert_eq!(user.read("fine.txt").unwrap(), "fine\n");
    refusal.to_string()
}

#[tokio::test]
async fn work_on_a_branch_that_is_not_checked_out_or_stashed_is_refused_once() {
    let commit = "git switch -qc other; echo 1 > b.txt; git add .; git commit -qm B; git switch -q main";
    let told = |branch: &str| {
        format!("it is on {branch}, which is not checked out: the branch that is has nothing new")
    };
    assert_eq!(refused(commit).await, told("other"));
    assert_eq!(refused("echo 1 > a.txt; git stash -q").await, told("stash"));
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, commit).await.unwrap_err();
    workspace.begin().await.unwrap();
    assert_eq!(user.work(&workspace, "true").await.unwrap(), None, "nothing of it is new");
    user.work(&workspace, "git switch -q other").await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
    assert_eq!(user.read("b.txt").unwrap(), "1\n");
}

#[tokio::test]
async fn a_submodule_is_refused() {
    let line = "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),vendor/x; mkdir -p vendor/x; git commit -qm Sub";
    assert_eq!(refused(line).await, "it adds or changes the submodule vendor/x");
    let hidden = format!("{line}; git rm -q --cached vendor/x; git commit -qm Gone");
    assert_eq!(refused(&hidden).await, "it adds or changes the submodule vendor/x");
}

#[tokio::test]
async fn an_embedded_repository_is_refused_also_where_only_a_commit_before_has_it() {
    let make = "mkdir -p d/objects d/refs; echo x > d/objects/x; echo x > d/refs/x; echo 'ref: refs/heads/main' > d/HEAD; git add -A; git commit -qm D; rm -r d; git commit -qam Gone";
    assert_eq!(refused(make).await, "it holds a repository among its files: d/");
    let by_links = "mkdir d; ln -s . d/objects; ln -s . d/refs; echo 'ref: refs/heads/main' > d/HEAD; git add -A; git commit -qm D; rm -r d; git commit -qam Gone";
    assert_eq!(refused(by_links).await, "it holds a repository among its files: d/");
    let by_common_dir = "mkdir d; echo ../e > d/commondir; echo 'ref: refs/heads/main' > d/HEAD; git add -A; git commit -qm D; rm -r d; git commit -qam Gone";
    assert_eq!(refused(by_common_dir).await, "it holds a repository among its files: d/");
}

#[tokio::test]
async fn a_change_of_a_control_file_is_refused_committed_or_hidden() {
    let expected = "it changes files that decide what runs: ci/check.sh";
    assert_eq!(refused("echo exit 0 > ci/check.sh").await, expected);
    assert_eq!(refused("echo exit 0 > ci/check.sh; git commit -qam Check").await, expected);
    let found = "it changes files that decide what runs: agent.json";
    assert_eq!(refused("echo x > agent.json; git add -A; git commit -qm Agent").await, found);
    let added = "echo x > ci/more.sh; git add -A; git commit -qm More";
    assert_eq!(refused(added).await, "it changes files that decide what runs: ci/more.sh");
    // The index is not believed: the file is as it was, the commit is not.
    let skipped = "echo x > ci/check.sh; git commit -qam Check; git checkout -q HEAD~ -- ci/check.sh; git reset -q; git update-index --assume-unchanged ci/check.sh; echo 1 > b.txt";
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, skipped).await.unwrap().unwrap();
    workspace.land().await.unwrap();
    assert_eq!(user.read("ci/check.sh").unwrap(), "true\n", "what was checked is what arrives");
    assert_eq!(user.git("status --porcelain"), "");
}

#[tokio::test]
async fn a_link_in_the_place_of_a_directory_with_control_files_is_refused() {
    // In the clone it leads nowhere, and in the user's tree to what the agent wrote.
    let told = refused("rm -rf ci; ln -s /proc/nowhere/cfg ci; git add -A; git commit -qm Link").await;
    assert!(told.contains("ci"), "{told}");
}

#[tokio::test]
async fn rules_outside_of_the_history_hide_no_file_from_the_commit() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "mkdir -p .git/info; echo seen.txt >> .git/info/exclude; echo it > seen.txt")
        .await
        .unwrap();
    workspace.land().await.unwrap().unwrap();
    assert_eq!(user.read("seen.txt").unwrap(), "it\n");
}

#[tokio::test]
#[allow(clippy::print_stdout, reason = "a test says why it is skipped")]
async fn an_object_that_unfolds_without_end_is_refused_and_takes_no_memory() {
    if !std::path::Path::new("/usr/bin/python3").exists() {
        return println!("skipped: python3 is not installed");
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/workspace/huge_object.py");
    let told = refused(&format!("/usr/bin/python3 '{script}'")).await;
    assert!(told.contains("over limit"), "{told}");
}

#[tokio::test]
async fn a_broken_object_is_refused_and_the_clone_is_moved_aside() {
    let line = "b=$(echo x | git hash-object -w --stdin); t=$(printf \"100644 blob $b\\t.git\\n\" | git mktree); c=$(git commit-tree -p HEAD -m Evil $t); git update-ref HEAD $c";
    let told = refused(line).await;
    assert!(told.contains("git does not take it"), "{told}");
    let no_parent = "c=$(printf 'tree %s\\nparent %040d\\nauthor A <a@b> 0 +0000\\ncommitter A <a@b> 0 +0000\\n\\nX\\n' $(git write-tree) 1 | git hash-object -t commit -w --stdin --literally); git update-ref HEAD $c";
    refused(no_parent).await;
}

#[tokio::test]
async fn reference_in_the_way_of_refused_work() {
    let told = refused("git update-ref refs/samuel/refused HEAD; echo exit 0 > ci/check.sh").await;
    assert_eq!(told, "it changes files that decide what runs: ci/check.sh");
}

#[tokio::test]
async fn git_directory_that_cannot_be_written() {
    let user = User::new();
    let workspace = user.opened().await;
    let damage = "rm -rf .git/info; touch .git/info";
    let error = user.work(&workspace, &format!("echo x > b.txt; {damage}")).await.unwrap_err();
    assert!(error.is_of_the_work(), "{error}");
    workspace.begin().await.unwrap();
    user.work(&workspace, "echo fine > fine.txt").await.unwrap().unwrap();
    workspace.land().await.unwrap();
    // A check does the same.
    user.sh(&workspace.work_dir(), damage);
    let told = workspace.begin().await.unwrap();
    assert!(told.iter().any(|told| told.contains("a .git without info")), "{told:?}");
    assert_eq!(user.work(&workspace, "test -d .git/info && test -e fine.txt").await.unwrap(), None);
}

#[tokio::test]
async fn no_git_works_in_a_repository_around() {
    let user = User::new();
    user.sh(user.path(), "git init -q . && git commit -q --allow-empty -m Around");
    let around = || user.sh(user.path(), "git rev-parse HEAD && git count-objects -v && git diff --cached");
    let before = around();
    let workspace = user.opened().await;
    for damage in ["rm -rf .git/refs", "rm .git/HEAD", ": > .git/HEAD"] {
        let error = user.work(&workspace, &format!("echo x > b.txt; {damage}")).await.unwrap_err();
        assert!(error.is_of_the_work(), "{damage}: {error}");
        assert_eq!(around(), before, "{damage}");
        workspace.begin().await.unwrap();
    }
}

#[tokio::test]
async fn what_only_a_look_at_the_objects_finds_is_refused() {
    let commit = "c=$(printf 'tree %s\\nparent %s\\nauthor A<a@b> 0 +0000\\ncommitter A <a@b> 0 +0000\\n\\nEvil\\n' $(git write-tree) $(git rev-parse HEAD) | git hash-object -t commit -w --stdin --literally); git update-ref HEAD $c";
    let told = refused(&format!("echo 1 > b.txt; git add b.txt; {commit}")).await;
    assert!(told.contains("missingSpaceBeforeEmail"), "{told}");
    let modules = "printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = -evil\\n' > .gitmodules";
    let told = refused(modules).await;
    assert!(told.contains("gitmodulesUrl"), "{told}");
}

#[tokio::test]
async fn a_history_that_begins_elsewhere_is_refused() {
    let told = refused("git commit -q --amend -m Other; echo 1 > b.txt").await;
    assert!(told.starts_with("its history does not begin at "), "{told}");
}

#[tokio::test]
async fn more_than_is_taken_at_once_is_refused() {
    let user = User::new();
    let mut setup = user.setup();
    setup.limits.bundle = 10_000;
    let (workspace, _) = CloneWorkspace::open(setup).await.unwrap();
    let error = user.work(&workspace, "head -c 20000 /dev/urandom > big").await.unwrap_err();
    assert!(
        error.to_string().contains("bytes, more than the 10000 that are taken; it is kept in the clone"),
        "{error}"
    );
    assert_eq!(user.samuel_refs(), [""; 0]);
    workspace.begin().await.unwrap();
    user.work(&workspace, "echo small > small").await.unwrap();
    workspace.land().await.unwrap();
    assert!(!workspace.work_dir().join("big").exists() && user.read("small").is_some());
}

#[tokio::test]
async fn a_file_that_is_small_only_while_it_is_packed_is_refused_also_where_only_a_commit_before_has_it() {
    let user = User::new();
    let mut setup = user.setup();
    setup.limits.bundle = 10_000;
    let (workspace, _) = CloneWorkspace::open(setup).await.unwrap();
    let make = |bytes: u32| {
        format!(
            "head -c {bytes} /dev/zero > big; git add big; git commit -qm Big; git rm -q big; git commit -qm Gone"
        )
    };
    let error = user.work(&workspace, &make(10_001)).await.unwrap_err();
    assert!(error.to_string().contains("is longer than 10000 bytes"), "{error}");
    assert_eq!(user.samuel_refs(), [""; 0]);
    workspace.begin().await.unwrap();
    user.work(&workspace, &make(10_000)).await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
}

#[tokio::test]
async fn replaced_objects_are_not_seen() {
    let user = User::new();
    let workspace = user.opened().await;
    let line = "new=$(echo evil | git hash-object -w --stdin); git replace $(git rev-parse HEAD:ci/check.sh) $new; echo 1 > b.txt";
    user.work(&workspace, line).await.unwrap().unwrap();
    workspace.land().await.unwrap();
    user.sh(&workspace.work_dir(), "rm ci/check.sh");
    workspace.begin().await.unwrap();
    let check = std::fs::read_to_string(workspace.work_dir().join("ci/check.sh")).unwrap();
    assert_eq!((check.as_str(), user.read("ci/check.sh").unwrap().as_str()), ("true\n", "true\n"));
}
