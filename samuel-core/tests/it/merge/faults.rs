//! What goes wrong: work that is no work, gits that fail, and what a killed one leaves.

use super::*;

impl User {
    /// Makes a commit of a tree, on some parents, that nobody could by `git commit`.
    fn made(&self, tree: &str, parents: &[&str]) -> String {
        let parents: String = parents.iter().map(|parent| format!("-p {parent} ")).collect();
        self.git(&format!("commit-tree {parents} -m Made {tree}"))
    }

    fn moves(&self, branch: &str, commit: &str) {
        self.git(&format!("update-ref refs/heads/{branch} {commit}"));
    }
}

fn reasons(built: &Built) -> Vec<&str> {
    built.refused.iter().map(|refused| refused.reason.as_str()).collect()
}

#[tokio::test]
async fn a_git_that_fails_says_nothing_of_whether_work_has_landed() {
    let user = User::new();
    let work = user.branch(1, &["echo new > c.txt"]);
    let (bin, broken) = (user.path("bin"), user.path("broken"));
    fs::create_dir(&bin).unwrap();
    let git = user.sh("command -v git");
    let script = format!(
        "#!/bin/sh\nfor arg in \"$@\"; do [ \"$arg\" = \"$(cat {broken} 2>/dev/null)\" ] && exit 128; done\nexec {git} \"$@\"\n",
        broken = broken.display()
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let merge = user.open_with(MergeStrategy::Merge, format!("{}:{PATH}", bin.display())).await;
    let built = land(&merge, &[work]).await;
    let landed = landing("samuel/run", &built);
    for question in ["merge-base", "cat-file"] {
        fs::write(&broken, question).unwrap();
        let standing = merge.standing(&landed).await;
        assert!(standing.is_err(), "{question}: {standing:?}");
    }
    // Where the files do not tell what a branch is at, git is asked.
    fs::write(&broken, "rev-parse").unwrap();
    let packed = user.tree().join(".git/packed-refs");
    fs::create_dir(&packed).unwrap();
    assert!(merge.head("samuel/none").await.is_err(), "nobody knows whether there is one");
    fs::remove_dir(&packed).unwrap();
    assert_eq!(merge.head("samuel/none").await.unwrap(), None);
    fs::remove_file(&broken).unwrap();
    assert_eq!(merge.standing(&landed).await.unwrap(), BranchStanding::Landed);
}

#[tokio::test]
async fn what_git_cannot_say_of_branches_is_an_error_and_never_a_no() {
    let user = User::new();
    let merge = user.open(MergeStrategy::Merge).await;
    let head = user.git("rev-parse main");
    let work = user.branch(1, &["echo more > c.txt"]);
    assert!(merge.has(&head, &head).await.unwrap());
    assert!(!merge.has(&head, &work.commit).await.unwrap());
    assert!(merge.has(&head, &"1".repeat(40)).await.is_err(), "there is no such commit");
    assert!(merge.is_beyond(&work.branch, "main").await.unwrap());
    assert!(!merge.is_beyond("nowhere", "main").await.unwrap(), "a branch that is gone has nothing");
    assert!(merge.is_beyond(&work.branch, "nowhere").await.is_err());
    user.git("tag v1");
    assert!(merge.is_tag("v1").await.unwrap() && !merge.is_tag("v2").await.unwrap());
    assert_eq!(merge.has_branch("main").await.unwrap(), HasBranch::Yes);
    assert_eq!(merge.has_branch("v1").await.unwrap(), HasBranch::No);
    assert_eq!(merge.has_branch("a..b").await.unwrap(), HasBranch::Never);
    // A repository that is broken has no answers.
    fs::rename(user.tree().join(".git/HEAD"), user.path("HEAD")).unwrap();
    assert!(merge.is_tag("v2").await.is_err());
    assert!(merge.has_branch("nowhere").await.is_err());
}

#[tokio::test]
async fn work_that_is_on_the_branch_already_lands_as_it_is() {
    let user = User::new();
    let [work, other] = [user.branch(1, &["echo new > c.txt"]), user.branch(2, &["echo 2 > d.txt"])];
    let nothing = user.branch(3, &[]);
    let merge = user.open(MergeStrategy::Merge).await;
    let first = land(&merge, std::slice::from_ref(&work)).await;
    let built = land(&merge, &[work.clone(), other, nothing]).await;
    assert_eq!((tokens(&built), built.merged[0].landed.as_str()), (vec![1, 2, 3], built.base.as_str()));
    assert_eq!(built.base, first.merged[0].landed);
    assert_eq!(
        user.landed("samuel/run"),
        ["3", "2", "1"],
        "each claim once, also of one that changed nothing"
    );
    // Where it is all that there is, the branch stays where it is.
    let built = land(&merge, &[work]).await;
    let again = landing("samuel/run", &built);
    assert_eq!(
        (again.old.as_str(), user.git("rev-parse samuel/run")),
        (again.new.as_str(), again.new.clone())
    );
    assert_eq!(merge.standing(&again).await.unwrap(), BranchStanding::Landed);
}

#[tokio::test]
async fn what_is_no_work_goes_back_and_keeps_nothing_else_from_landing() {
    for strategy in [MergeStrategy::Merge, MergeStrategy::Squash, MergeStrategy::Rebase] {
        let user = User::new();
        let good = user.branch(1, &["echo new > c.txt"]);
        let tree = user.git("rev-parse samuel/run^{tree}");
        let unrelated = Submission { commit: user.made(&tree, &[]), ..user.branch(2, &[]) };
        let missing = Submission { commit: "0123456789".repeat(4), ..user.branch(3, &[]) };
        // What is in the repository and no commit has not landed, whoever has it.
        let (file, whole) = (user.git("rev-parse samuel/run:a.txt"), tree);
        let [blob, tree] = [file, whole].map(|commit| Submission { commit, ..missing.clone() });
        let damaged = user.branch(4, &["echo lost > lost.txt"]);
        let lost = user.git(&format!("rev-parse {}:lost.txt", damaged.commit));
        let object = user.tree().join(".git/objects").join(&lost[..2]).join(&lost[2..]);
        fs::remove_file(object).unwrap();
        let merge = user.open(strategy).await;
        let built =
            merge.build("samuel/run", &[unrelated, missing, damaged, blob, tree, good]).await.unwrap();
        assert_eq!(tokens(&built), [1], "{strategy}");
        let said = reasons(&built);
        assert_eq!(said[0], "it has no history in common with the branch");
        assert!(said[1].ends_with("is not in the repository"), "{said:?}");
        assert!(said[2].starts_with("git does not take it: "), "{said:?}");
        assert!(said[3..].iter().all(|why| why.ends_with("is not in the repository")), "{said:?}");
        assert_eq!(said.len(), 5);
        assert_eq!(merge.advance(&landing("samuel/run", &built)).await.unwrap(), Moved::Done);
    }
}

#[tokio::test]
async fn what_git_cannot_make_anew_commit_by_commit_is_squashed() {
    let user = User::new();
    let work = user.branch(1, &["echo new > c.txt"]);
    let tree = user.git(&format!("rev-parse {}^{{tree}}", work.commit));
    let root = user.made(&user.git("rev-parse samuel/run^{tree}"), &[]);
    let with_root = Submission { commit: user.made(&tree, &[&work.commit, &root]), ..work.clone() };
    let nobody = format!(
        "git cat-file commit {} | sed 's/^author .*/author  <> 1767323045 +0000/' | git hash-object -t commit -w \
         --literally --stdin",
        work.commit
    );
    let without_author = Submission { commit: user.sh(&nobody), ..work };
    let merge = user.open(MergeStrategy::Rebase).await;
    for work in [with_root, without_author] {
        let built = merge.build("samuel/run", std::slice::from_ref(&work)).await.unwrap();
        assert_eq!((tokens(&built), built.merged[0].tree.as_str()), (vec![1], tree.as_str()));
        let parents = user.git(&format!("log -1 --format=%P {}", built.merged[0].landed));
        assert_eq!(parents, built.base, "{work:?}");
    }
}

#[tokio::test]
async fn what_lands_is_what_was_judged_whatever_becomes_of_single_commits() {
    let user = User::new();
    // A change and its undo, of which the branch has the change as well.
    let undone = user.branch(1, &["sed -i s/one/uno/ a.txt", "sed -i s/uno/one/ a.txt && echo x > x.txt"]);
    // A merge that is more than its parents.
    let part = user.branch(2, &["echo y > y.txt"]);
    let whole = user.branch(3, &["echo y > y.txt && echo evil > evil.txt"]);
    let tree = user.git(&format!("rev-parse {}^{{tree}}", whole.commit));
    let evil = Submission { commit: user.made(&tree, &[&part.commit, &part.base]), ..part };
    let upstream = user.branch(4, &["sed -i s/one/uno/ a.txt"]);
    user.moves("samuel/run", &upstream.commit);
    let merge = user.open(MergeStrategy::Rebase).await;
    let built = merge.build("samuel/run", &[undone, evil]).await.unwrap();
    assert_eq!(tokens(&built), [1, 2]);
    for merged in &built.merged {
        assert_eq!(user.git(&format!("rev-parse {}^{{tree}}", merged.landed)), merged.tree, "{merged:?}");
    }
    let last = &built.merged[1].landed;
    assert_eq!(user.git(&format!("show {last}:a.txt {last}:evil.txt")), "uno\ntwo\nthree\nevil");
}

#[tokio::test]
async fn what_must_not_land_does_not_land_on_the_way_either() {
    for strategy in [MergeStrategy::Merge, MergeStrategy::Rebase] {
        let user = User::new();
        let link =
            "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub && git commit --quiet -m L";
        let control = user.branch(1, &["echo x > samuel.toml", "rm samuel.toml && echo y > y.txt"]);
        let link = user.branch(2, &[&format!("{link} && git rm --quiet --cached sub && echo z > z.txt")]);
        let bare = "mkdir -p d/objects d/refs && touch d/HEAD d/objects/x d/refs/x";
        let embedded = user.branch(3, &[bare]);
        let on_the_way = user.branch(4, &[bare, "rm -r d && echo w > w.txt"]);
        let merge = user.open(strategy).await;
        let built = land(&merge, &[control, link, embedded, on_the_way]).await;
        assert_eq!(tokens(&built), [1, 2, 4], "{strategy}: {built:?}");
        assert_eq!(reasons(&built), ["it holds a repository among its files: d/"]);
        assert_eq!(user.git("ls-tree --name-only samuel/run"), "a.txt\nb.txt\nw.txt\ny.txt\nz.txt");
        assert_eq!(user.git("log --format=%h samuel/run -- samuel.toml sub d"), "", "{strategy}");
        assert_eq!(user.landed("samuel/run"), ["4", "2", "1"]);
    }
}

#[tokio::test]
async fn what_somebody_took_over_from_the_branch_is_no_stray() {
    let user = User::new();
    let upstream = user.branch(9, &["echo x > samuel.toml"]);
    user.git("branch before samuel/run");
    user.moves("samuel/run", &upstream.commit);
    let work = user.branch(
        1,
        &[
            "git reset --quiet --hard before && echo n > n.txt",
            "git merge --quiet --no-ff --no-commit samuel/run",
        ],
    );
    let merge = user.open(MergeStrategy::Merge).await;
    let built = land(&merge, std::slice::from_ref(&work)).await;
    let parents = user.git(&format!("log -1 --format=%P {}", built.merged[0].landed));
    assert_eq!(parents, format!("{} {}", built.base, work.commit), "it is merged, not squashed");
}

#[tokio::test]
async fn no_trailer_counts_that_an_agent_wrote() {
    let user = User::new();
    let forged =
        "git commit --quiet --allow-empty -m Forge -m 'Samuel-Task: 9\nSamuel-Claim: 99' && echo n > n.txt";
    let work = user.branch(1, &[forged]);
    for strategy in [MergeStrategy::Merge, MergeStrategy::Squash, MergeStrategy::Rebase] {
        let before = user.git("rev-parse samuel/run");
        land(&user.open(strategy).await, std::slice::from_ref(&work)).await;
        assert_eq!(user.landed("samuel/run"), ["1"], "{strategy}");
        user.moves("samuel/run", &before);
    }
}

#[tokio::test]
async fn a_work_tree_that_is_gone_keeps_no_branch_from_being_moved() {
    let user = User::new();
    let work = user.branch(1, &["echo new > c.txt"]);
    let elsewhere = user.path("elsewhere");
    user.git(&format!("worktree add --quiet {} samuel/run", elsewhere.display()));
    let merge = user.open(MergeStrategy::Merge).await;
    let built = merge.build("samuel/run", &[work]).await.unwrap();
    let landing = landing("samuel/run", &built);
    // One on a disk that comes back is locked.
    user.git(&format!("worktree lock {}", elsewhere.display()));
    fs::remove_dir_all(&elsewhere).unwrap();
    assert!(matches!(merge.advance(&landing).await.unwrap(), Moved::Held { .. }));
    user.git(&format!("worktree unlock {}", elsewhere.display()));
    assert_eq!(merge.advance(&landing).await.unwrap(), Moved::Done);
}

#[tokio::test]
async fn a_lock_that_a_killed_git_left_is_removed_and_one_of_somebody_else_is_waited_for() {
    let user = User::new();
    let works = [1, 2].map(|id| user.branch(id, &[&format!("echo {id} > {id}.txt")]));
    let lock = user.tree().join(".git/refs/heads/samuel/run.lock");
    let mut merge = user.open(MergeStrategy::Merge).await;
    for (work, is_opened_anew) in works.into_iter().zip([true, false]) {
        let built = merge.build("samuel/run", &[work]).await.unwrap();
        let landing = landing("samuel/run", &built);
        fs::write(&lock, "").unwrap();
        let held =
            Moved::Held { reason: "another git is at work there (refs/heads/samuel/run.lock)".to_owned() };
        assert_eq!(merge.advance(&landing).await.unwrap(), held);
        assert!(lock.exists(), "it is not ours");
        // Samuel writes down what it moves, and is killed with its git.
        let note = serde_json::json!({ "branch": "samuel/run", "old": landing.old, "new": landing.new });
        let path = user.path("state/move.json");
        fs::write(&path, note.to_string()).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        fs::remove_file(&lock).unwrap();
        fs::write(&lock, "").unwrap();
        if is_opened_anew {
            merge = user.open(MergeStrategy::Merge).await;
            assert!(!lock.exists() && !path.exists());
        }
        assert_eq!(merge.advance(&landing).await.unwrap(), Moved::Done);
        assert!(!lock.exists() && !path.exists());
    }
}
