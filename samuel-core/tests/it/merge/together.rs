//! What becomes of branches whose work has landed together, and in what turn it did.

use std::fs;

use samuel_core::merge::{MergeStrategy, Submission};

use crate::merge::{User, land, landing, tokens};

#[tokio::test(flavor = "multi_thread")]
async fn branches_that_landed_go_together_and_each_that_did_not_or_that_somebody_uses_stays() {
    let user = User::new();
    let merge = user.open(MergeStrategy::Merge).await;
    let work: Vec<Submission> = (1..=5).map(|id| user.branch(id, &[&format!("echo x > {id}.txt")])).collect();
    let built = land(&merge, &work[..4]).await;
    assert_eq!(tokens(&built), [1, 2, 3, 4]);
    let later = user.git(&format!("commit-tree -p {} -m Later {}^{{tree}}", work[1].commit, work[1].commit));
    user.git(&format!("update-ref refs/heads/{} {later}", work[1].branch));
    let tree = user.path("elsewhere").display().to_string();
    user.git(&format!("worktree add --quiet {tree} {}", work[2].branch));
    let branches: Vec<(String, String)> =
        work.iter().map(|work| (work.branch.clone(), work.commit.clone())).collect();
    let failed = merge.remove_landed("samuel/run", &branches).await;
    assert!(failed.is_empty(), "{failed:?}");
    let left: Vec<bool> =
        work.iter().map(|work| !user.git(&format!("branch --list {}", work.branch)).is_empty()).collect();
    assert_eq!(left, [false, true, true, false, true], "somebody went on, looks at it, has not landed it");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_none_of_some_branches_has_landed_git_is_not_asked_to_remove_them_together() {
    let user = User::new();
    let (merge, log) = user.open_logged().await;
    let work = user.branch(1, &["echo x > x.txt"]);
    let branches = [(work.branch.clone(), work.commit.clone())];
    assert!(merge.remove_landed("samuel/run", &branches).await.is_empty());
    assert!(!user.git(&format!("branch --list {}", work.branch)).is_empty());
    let asked = fs::read_to_string(log).unwrap();
    assert!(asked.contains("--merged=refs/heads/samuel/run"), "{asked}");
    assert!(!asked.contains("update-ref --stdin"), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_just_landed_is_known_without_git_and_its_branches_go_by_one_call_of_it() {
    let user = User::new();
    let (merge, log) = user.open_logged().await;
    let work: Vec<Submission> = (1..=3).map(|id| user.branch(id, &[&format!("echo x > {id}.txt")])).collect();
    let built = land(&merge, &work).await;
    let landing = landing("samuel/run", &built);
    let branches: Vec<(String, String)> =
        work.iter().map(|work| (work.branch.clone(), work.commit.clone())).collect();
    let asked = || {
        let asked = fs::read_to_string(&log).unwrap();
        fs::write(&log, "").unwrap();
        asked.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    asked();
    let landed: Vec<String> = built.merged.iter().map(|merged| merged.landed.clone()).collect();
    assert_eq!(merge.in_turn(&landing).await.unwrap(), landed);
    assert_eq!(asked(), [""; 0]);
    // Somebody takes the landing back.
    user.git(&format!("update-ref refs/heads/samuel/run {}", built.base));
    assert!(merge.remove_landed("samuel/run", &branches).await.is_empty());
    let there = || user.git("branch --list 'samuel/run-1/*'").lines().count();
    let (before, calls) = (there(), asked());
    assert!(calls.iter().any(|call| call.contains("--merged=")), "{calls:?}");
    user.git(&format!("update-ref refs/heads/samuel/run {}", landing.new));
    assert!(merge.remove_landed("samuel/run", &branches).await.is_empty());
    let calls = asked();
    assert!(calls.len() == 1 && calls[0].contains("update-ref --stdin"), "{calls:?}");
    assert_eq!((before, there()), (3, 0));
    // Commits that no first parent leads to are asked of git.
    let odd = samuel_core::merge::UnsettledLanding { old: work[0].commit.clone(), ..landing };
    assert_eq!(merge.in_turn(&odd).await.unwrap().len(), 3);
    assert_eq!(asked().len(), 1);
}
