//! Samuel ended while it moved the user's branch: the tree is old or new.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use samuel_core::{
    Coded as _,
    workspace::{CloneWorkspace, OnStep, WorkspaceStep},
};

use crate::workspace::kit::User;

/// Has work ready to land whose fast-forward ends right after it was written down, then does what a git that
/// was killed had done, and starts again.
async fn cut_off_at(half_done: &str) -> (User, String, Result<(CloneWorkspace, Vec<String>), String>) {
    let user = User::new();
    user.write("gone.txt", "to be removed\n");
    user.git("add -A");
    user.git("commit -qm More");
    let note = user.directory().join("landing.json");
    let kept_note = user.directory().join("landing.kept");
    let mut setup = user.setup();
    let is_there = Arc::new(AtomicBool::new(false));
    let (seen, from, to) = (Arc::clone(&is_there), note.clone(), kept_note.clone());
    setup.on_step = Some(OnStep::new(move |step| {
        if step == WorkspaceStep::Landing {
            seen.store(true, Ordering::Relaxed);
            fs::copy(&from, &to).unwrap();
        }
    }));
    let (workspace, _) = CloneWorkspace::open(setup).await.unwrap();
    let old = user.head();
    let line = "echo two > a.txt; rm gone.txt; mkdir d; seq 1000 > d/new.txt; ln -s a.txt link";
    let new = user.work(&workspace, line).await.unwrap().unwrap();
    // As it is on the disk between the note and the end of git.
    let record = fs::read(user.directory().join("record.json")).unwrap();
    workspace.land().await.unwrap();
    assert!(is_there.load(Ordering::Relaxed));
    user.sh(&user.tree(), &format!("git reset -q --hard {old}"));
    fs::rename(kept_note, &note).unwrap();
    fs::write(user.directory().join("record.json"), record).unwrap();
    drop(workspace);
    user.sh(&user.tree(), half_done);
    let opened =
        CloneWorkspace::open(user.setup()).await.map_err(|error| format!("{error} | {}", error.code().name));
    (user, new, opened)
}

fn is_new(user: &User, new: &str) {
    assert_eq!((user.head().as_str(), user.git("status --porcelain").as_str()), (new, ""));
    assert_eq!(user.read("a.txt").unwrap(), "two\n");
    assert!(user.read("gone.txt").is_none() && user.read("d/new.txt").unwrap().ends_with("1000\n"));
    assert!(!user.tree().join(".git/index.lock").exists());
}

#[tokio::test]
async fn a_fast_forward_that_was_cut_off_anywhere_is_finished() {
    let with_lock = "sleep 0.02; touch .git/index.lock;";
    for half_done in [
        "true",
        with_lock,
        &format!("{with_lock} rm gone.txt"),
        &format!("{with_lock} rm gone.txt a.txt"),
        &format!("{with_lock} rm gone.txt; printf tw > a.txt"),
        &format!("{with_lock} rm gone.txt; echo two > a.txt; mkdir d; seq 500 > d/new.txt"),
        &format!(
            "{with_lock} rm gone.txt; echo two > a.txt; mkdir d; seq 1000 > d/new.txt; ln -s a.txt link"
        ),
        "new=$(git rev-parse refs/samuel/work/0123); git read-tree -m -u HEAD $new",
        "git merge -q --ff-only refs/samuel/work/0123",
    ] {
        let (user, new, opened) = cut_off_at(half_done).await;
        let (_, told) = opened.unwrap();
        assert_eq!(
            told,
            [format!("a fast-forward of main to {} was cut off: it is finished now", &new[..12])],
            "{half_done}"
        );
        is_new(&user, &new);
        assert_eq!(user.kept(), [""; 0]);
    }
}

#[tokio::test]
async fn undoing_a_merge_runs_no_filter() {
    let half_done = "sleep 0.02; touch .git/index.lock; rm gone.txt; mkdir -p .git/info; \
                     echo '* filter=x' > .git/info/attributes; git config filter.x.smudge 'touch $CANARY; cat'";
    let (user, new, opened) = cut_off_at(half_done).await;
    opened.unwrap();
    is_new(&user, &new);
    assert!(!user.canary().exists(), "a filter of the repository was executed");
    user.write("a.txt", "");
    user.git("checkout-index --force a.txt");
    assert!(user.canary().exists(), "the filter works for the user's own git");
}

#[tokio::test]
async fn no_lock_of_a_git_is_left_that_was_ended_after_the_branch_had_moved() {
    const LOCKS: [&str; 5] = ["index", "HEAD", "packed-refs", "AUTO_MERGE", "refs/heads/main"];
    let locks = LOCKS.map(|name| format!(".git/{name}.lock"));
    let half_done =
        format!("git merge -q --ff-only refs/samuel/work/0123; sleep 0.02; touch {}", locks.join(" "));
    let (user, new, opened) = cut_off_at(&half_done).await;
    opened.unwrap();
    is_new(&user, &new);
    for lock in locks {
        assert!(!user.tree().join(&lock).exists(), "{lock}");
    }
    user.git("commit -q --allow-empty -m Mine");
}

#[tokio::test]
async fn a_git_of_the_users_that_is_at_work_later_keeps_its_lock() {
    let (user, new, opened) = cut_off_at("touch -d '1 hour' .git/index.lock").await;
    let told = opened.unwrap_err();
    assert!(told.contains("another git is at work there") && told.contains("index.lock"), "{told}");
    let lock = user.tree().join(".git/index.lock");
    assert!(lock.exists());
    fs::remove_file(lock).unwrap();
    user.opened().await;
    is_new(&user, &new);
}

#[tokio::test]
async fn what_the_user_changed_after_it_is_left_alone() {
    let (user, new, opened) =
        cut_off_at("touch .git/index.lock; rm gone.txt; echo my own words > a.txt").await;
    let told = opened.unwrap_err();
    let expected = format!(
        "Samuel was ended while it moved main to {new}, and these files were changed since: a.txt | E_WORKSPACE_CUT_OFF"
    );
    assert_eq!(told, expected);
    assert_eq!(user.read("a.txt").unwrap(), "my own words\n");
    user.sh(&user.tree(), "git show HEAD:a.txt > a.txt");
    user.opened().await;
    is_new(&user, &new);
}

#[tokio::test]
async fn a_user_who_went_on_elsewhere_is_not_called_back() {
    let (user, _, opened) = cut_off_at("git commit -q --allow-empty -m Mine").await;
    let (_, told) = opened.unwrap();
    assert!(told[0].contains("was left by a run that was cut off: it is kept as"), "{told:?}");
    assert_eq!((user.git("log -1 --format=%s").as_str(), user.kept().len()), ("Mine", 1));
}
