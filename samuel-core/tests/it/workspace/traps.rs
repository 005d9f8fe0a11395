//! What an agent plants so that the next git starts a program.

use samuel_core::{Coded as _, workspace::WorkspaceError};

use crate::workspace::kit::User;

/// A configuration that starts something at a look at a repository.
const EVIL: &str =
    "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"touch $CANARY; false\"\\n'";

/// Has an agent plant something. No git of Samuel's starts it, and no git of the user; where `spring` is
/// run in the clone, it does.
async fn planted(plant: &str, spring: &str) -> String {
    let user = User::new();
    let workspace = user.opened().await;
    let error = user.work(&workspace, &format!("echo work > b.txt; {plant}")).await.unwrap_err();
    let WorkspaceError::Planted { found, kept } = &error else { panic!("{error}") };
    assert_eq!(error.code().name, "E_WORKSPACE_PLANTED");
    user.looks_around_safely();
    assert_eq!(user.samuel_refs(), [""; 0]);
    // The next attempt has a clone of its own.
    workspace.begin().await.unwrap();
    user.work(&workspace, "echo fine > fine.txt").await.unwrap();
    workspace.land().await.unwrap().unwrap();
    user.looks_around_safely();
    assert!(user.read("fine.txt").is_some() && user.read("b.txt").is_none());
    assert_eq!(std::fs::read_to_string(kept.join("b.txt")).unwrap(), "work\n", "nothing is lost");
    user.tries(kept, spring);
    assert!(user.canary().exists(), "the trap is none: {spring}");
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn a_common_directory() {
    let plant = format!(
        "mkdir -p evil/objects evil/refs; {EVIL} > evil/config; echo ../evil > .git/commondir; mv .git/objects/* evil/objects/ ; mkdir -p .git/objects/info; mv evil/objects/info/alternates .git/objects/info/ ; cp .git/objects/info/alternates evil/objects/info/; cp -r .git/refs/* evil/refs/"
    );
    assert_eq!(planted(&plant, "git status").await, ".git/commondir");
}

#[tokio::test]
async fn a_configuration() {
    assert_eq!(
        planted("git config core.fsmonitor 'touch $CANARY; false'", "git status").await,
        "a changed .git/config"
    );
}

#[tokio::test]
async fn a_configuration_of_the_work_tree() {
    let plant = "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor 'touch $CANARY; false'";
    assert_eq!(planted(plant, "git status").await, ".git/config.worktree, a changed .git/config");
}

#[tokio::test]
async fn a_hook() {
    let plant = "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch $CANARY\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
    assert_eq!(planted(plant, "git commit --allow-empty -m x").await, "the hook .git/hooks/pre-commit");
}

#[tokio::test]
async fn a_filter() {
    let plant = "echo '* filter=evil' > .gitattributes; git config filter.evil.clean 'touch $CANARY; cat'";
    assert_eq!(planted(plant, "git add -A").await, "a changed .git/config");
}

#[tokio::test]
async fn a_nested_repository() {
    let plant = format!("git init -q vendor/x; {EVIL} > vendor/x/.git/config");
    assert_eq!(planted(&plant, "git -C vendor/x status").await, "the repository of vendor/x/.git");
}

#[tokio::test]
async fn a_nested_repository_that_is_ignored() {
    let plant = format!("git init -q target/x; {EVIL} > target/x/.git/config");
    assert_eq!(planted(&plant, "git -C target/x status").await, "the repository of target/x/.git");
}

#[tokio::test]
async fn an_embedded_bare_repository() {
    let plant = format!(
        "git init -q --bare fixtures/x; {EVIL} > fixtures/x/config; printf '\\tbare = false\\n\\tworktree = ..\\n' >> fixtures/x/config"
    );
    assert_eq!(planted(&plant, "git -C fixtures/x status").await, "the bare repository fixtures/x");
}

#[tokio::test]
async fn a_trap_that_a_check_left_is_found_before_the_next_task() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "echo 1 > b.txt").await.unwrap();
    user.sh(&workspace.work_dir(), "git config core.fsmonitor 'touch $CANARY; false'");
    workspace.land().await.unwrap().unwrap();
    let told = workspace.begin().await.unwrap();
    assert!(told[0].contains("a changed .git/config"), "{told:?}");
    assert!(!user.canary().exists() && user.read("b.txt").is_some());
    assert!(workspace.work_dir().join("b.txt").exists());
}

#[tokio::test]
async fn bare_repositories_that_the_project_has_itself_are_none() {
    let user = User::new();
    user.sh(&user.tree(), "mkdir -p fixtures/x/objects fixtures/x/refs; echo x > fixtures/x/objects/x; echo x > fixtures/x/refs/x; echo x > fixtures/x/HEAD; git add -A; git commit -qm Fixtures");
    let workspace = user.opened().await;
    user.work(&workspace, "echo y > fixtures/x/HEAD").await.unwrap();
    workspace.land().await.unwrap().unwrap();
    assert_eq!(user.read("fixtures/x/HEAD").unwrap(), "y\n");
    user.git("mv fixtures more");
    user.git("commit -qm More");
    assert!(workspace.begin().await.unwrap().is_empty());
    user.work(&workspace, "echo z > more/x/HEAD").await.unwrap();
    workspace.land().await.unwrap().unwrap();
}
