//! How work arrives in the user's tree, and what is in its way.

use samuel_core::{Coded as _, workspace::WorkspaceError};

use crate::workspace::kit::User;

#[tokio::test]
async fn changes_of_the_user_in_the_way_hold_the_work_back_and_others_do_not() {
    let user = User::new();
    let workspace = user.opened().await;
    let before = user.head();
    let commit = user.work(&workspace, "echo 2 > a.txt; echo n > new.txt").await.unwrap().unwrap();
    user.write("ci/check.sh", "my own\n");
    for (path, text) in [("new.txt", "mine\n"), ("a.txt", "mine\n")] {
        user.write(path, text);
        let error = workspace.land().await.unwrap_err();
        assert_eq!(error.code().name, "E_WORKSPACE_NOT_LANDED");
        let told = error.to_string();
        assert!(
            told.contains(&format!(
                "these files were changed there: {path}; it is kept as refs/samuel/kept/"
            )),
            "{told}"
        );
        assert_eq!((user.head(), user.read(path).unwrap().as_str()), (before.clone(), text));
        user.sh(&user.tree(), "rm -f new.txt; git checkout -q a.txt");
        // What is kept can be taken over by hand, or made again.
        workspace.begin().await.unwrap();
        user.work(&workspace, "echo 2 > a.txt; echo n > new.txt").await.unwrap().unwrap();
    }
    workspace.land().await.unwrap().unwrap();
    assert_eq!(user.git("status --porcelain"), "M ci/check.sh");
    assert_eq!(user.git("rev-parse refs/samuel/kept/r1-1"), commit);
}

#[tokio::test]
async fn what_the_user_staged_stays_staged_whatever_the_file_is() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "echo 2 > a.txt").await.unwrap().unwrap();
    user.sh(&user.tree(), "echo staged > a.txt; git add a.txt; git show HEAD:a.txt > a.txt");
    let error = workspace.land().await.unwrap_err().to_string();
    assert!(error.contains("these files were changed there: a.txt; it is kept"), "{error}");
    assert_eq!(user.git("show :a.txt"), "staged");
}

#[tokio::test]
async fn an_ignored_file_of_the_user_is_not_overwritten() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "mkdir target; echo theirs > target/x; git add -f target/x; git commit -qm Built")
        .await
        .unwrap();
    user.write("target/x", "mine\n");
    workspace.land().await.unwrap_err();
    assert_eq!(user.read("target/x").unwrap(), "mine\n");
}

#[tokio::test]
async fn a_branch_that_moved_on_or_was_left_is_not_forced() {
    let user = User::new();
    let workspace = user.opened().await;
    user.work(&workspace, "echo 2 > b.txt").await.unwrap();
    user.git("commit -q --allow-empty -m Mine");
    let error = workspace.land().await.unwrap_err();
    assert!(
        matches!(&error, WorkspaceError::NotLanded { problem, .. } if problem.contains("has moved on")),
        "{error}"
    );
    assert_eq!(workspace.begin().await.unwrap(), [""; 0]);
    user.work(&workspace, "echo 2 > b.txt").await.unwrap();
    user.git("switch -qc other");
    let error = workspace.land().await.unwrap_err();
    assert!(error.to_string().contains("other is checked out meanwhile"), "{error}");
    assert_eq!(user.git("log -1 --format=%s"), "Mine");
}

#[tokio::test]
async fn no_hook_and_no_filter_of_the_user_runs_on_what_the_agent_wrote() {
    let user = User::new();
    user.sh(&user.tree(), "git config filter.x.smudge 'touch $CANARY; cat'; git config filter.x.clean 'touch $CANARY; cat'; git config filter.x.required true; git config core.fsmonitor 'touch $CANARY; false'; for h in post-merge post-checkout reference-transaction post-index-change; do printf '#!/bin/sh\\ntouch $CANARY\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done");
    let workspace = user.opened().await;
    user.work(&workspace, "echo '*.bin filter=x' > .gitattributes; echo data > f.bin").await.unwrap();
    workspace.land().await.unwrap().unwrap();
    assert!(!user.canary().exists());
    assert_eq!(user.read("f.bin").unwrap(), "data\n");
    user.git("status");
    assert!(user.canary().exists(), "what the user set up would have run");
}

#[tokio::test]
async fn no_signature_is_verified_by_a_program_that_the_work_before_brought() {
    let user = User::new();
    user.git("config include.path ../.gitconfig");
    let workspace = user.opened().await;
    let program = "printf '#!/bin/sh\\ntouch $CANARY; exit 1\\n' > g.sh; chmod +x g.sh; printf '[merge]\\n\\tverifySignatures = true\\n[gpg]\\n\\tprogram = ./g.sh\\n' > .gitconfig";
    user.work(&workspace, program).await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
    let signed = "echo 2 > b.txt; git add b.txt; c=$(printf 'tree %s\\nparent %s\\nauthor A <a@b> 0 +0000\\ncommitter A <a@b> 0 +0000\\ngpgsig -----BEGIN PGP SIGNATURE-----\\n \\n x\\n -----END PGP SIGNATURE-----\\n\\nSigned\\n' $(git write-tree) $(git rev-parse HEAD) | git hash-object -t commit -w --stdin); git update-ref HEAD $c";
    user.work(&workspace, signed).await.unwrap().unwrap();
    workspace.land().await.unwrap().unwrap();
    assert!(!user.canary().exists(), "the landing started it");
    user.tries(&user.tree(), "git verify-commit HEAD");
    assert!(user.canary().exists(), "git of the user's would have started it");
}
