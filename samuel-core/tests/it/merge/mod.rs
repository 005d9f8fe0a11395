//! Work of several branches, merged and landed with git in repositories that are made for it.

use std::{
    collections::BTreeMap,
    fs,
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use jiff::Timestamp;
use samuel_core::{
    clock::SystemClock,
    git::Caller,
    merge::{
        BranchStanding, Built, ClaimKey, ClaimRefusal, HasBranch, MergeEffect, MergeInput, MergeMachine,
        MergeRepository, MergeSetup, MergeStrategy, Moved, Queue, RepositorySetup, Submission,
        UnsettledLanding,
    },
    model::{ClaimPhase, ClaimTarget, Plan, Role, Status, Task, TaskId},
    process::Supervisor,
    state::{Actor, Existing, MemoryStore, Mutation, PlanStore},
    workspace::ControlLook,
};

mod faults;
mod together;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Says that samuel.toml decides what runs.
#[derive(Debug)]
struct Toml;

impl ControlLook for Toml {
    fn look(&self, _: &Path) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn covers(&self, path: &str) -> bool {
        path == "samuel.toml"
    }
}

/// A user with a repository on `main`, and a directory for Samuel.
struct User(tempfile::TempDir);

impl User {
    fn new() -> Self {
        let user = Self(tempfile::tempdir().unwrap());
        fs::create_dir(user.tree()).unwrap();
        fs::create_dir(user.path("home")).unwrap();
        fs::write(user.path("home/.gitconfig"), "[user]\nname = Ada\nemail = ada@example.org\n").unwrap();
        user.git("init --quiet --initial-branch=main");
        fs::write(user.tree().join("a.txt"), "one\ntwo\nthree\n").unwrap();
        fs::write(user.tree().join("b.txt"), "b\n").unwrap();
        user.git("add --all");
        user.git("commit --quiet --message Start");
        user.git("branch samuel/run");
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    fn canary(&self) -> PathBuf {
        self.path("canary")
    }

    fn git(&self, args: &str) -> String {
        self.sh(&format!("git {args}"))
    }

    fn sh(&self, line: &str) -> String {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).current_dir(self.tree()).env_clear();
        command.env("PATH", PATH).env("HOME", self.path("home"));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {said}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Makes a branch of `samuel/run` on which a line of shell did something, one commit each.
    fn branch(&self, id: u64, lines: &[&str]) -> Submission {
        let base = self.git("rev-parse samuel/run");
        let branch = format!("samuel/run-1/{id}-{id}");
        let tree = self.path(&format!("work-{id}"));
        self.git(&format!("worktree add --quiet -b {branch} {} samuel/run", tree.display()));
        for line in lines {
            let author = "--author='Bob <bob@example.org>' --date=2026-01-02T03:04:05Z";
            self.sh(&format!(
                "cd {} && {line} && git add --all && git commit --quiet {author} --message 'Do {id}'",
                tree.display()
            ));
        }
        let commit = self.git(&format!("rev-parse {branch}"));
        self.git(&format!("worktree remove --force {}", tree.display()));
        let key = ClaimKey { task: TaskId::new(id.to_string()), token: id };
        let since = Timestamp::UNIX_EPOCH;
        Submission { key, branch, commit, base, tree: None, attempt: 1, is_critical: false, since }
    }

    async fn open(&self, strategy: MergeStrategy) -> MergeRepository {
        self.open_with(strategy, PATH.to_owned()).await
    }

    async fn open_with(&self, strategy: MergeStrategy, programs: String) -> MergeRepository {
        let env = [("PATH", programs), ("HOME", self.path("home").display().to_string())];
        let setup = RepositorySetup {
            root: self.tree(),
            directory: self.path("state"),
            caller: Caller::of_process(),
            env: env.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            supervisor: Supervisor::GroupOnly,
            strategy,
            control: Arc::new(Toml),
        };
        MergeRepository::open(setup).await.unwrap()
    }

    /// Opens it with a git that writes down how it is called.
    async fn open_logged(&self) -> (MergeRepository, PathBuf) {
        let (bin, log) = (self.path("bin"), self.path("log"));
        fs::create_dir(&bin).unwrap();
        let git = self.sh("command -v git");
        let script = format!("#!/bin/sh\necho \"$*\" >> {}\nexec {git} \"$@\"\n", log.display());
        fs::write(bin.join("git"), script).unwrap();
        self.sh(&format!("chmod +x {}/git", bin.display()));
        (self.open_with(MergeStrategy::Merge, format!("{}:{PATH}", bin.display())).await, log)
    }

    /// Returns the claims that commits on the first-parent line of a branch land, the last one first.
    fn landed(&self, branch: &str) -> Vec<String> {
        let format = "--format='%(trailers:key=Samuel-Claim,valueonly,separator=%x2C)'";
        let told = self.git(&format!("log --first-parent {format} {branch}"));
        told.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

fn tokens(built: &Built) -> Vec<u64> {
    built.merged.iter().map(|merged| merged.key.token).collect()
}

fn landing(into: &str, built: &Built) -> UnsettledLanding {
    let new = built.merged.last().unwrap().landed.clone();
    UnsettledLanding { into: into.to_owned(), old: built.base.clone(), new }
}

/// Merges some work, and lands what was merged.
async fn land(merge: &MergeRepository, work: &[Submission]) -> Built {
    let built = merge.build("samuel/run", work).await.unwrap();
    assert_eq!(merge.advance(&landing("samuel/run", &built)).await.unwrap(), Moved::Done);
    built
}

#[tokio::test]
async fn branches_are_merged_one_on_the_other_and_land_without_a_work_tree() {
    let user = User::new();
    let work = [user.branch(1, &["echo new > c.txt"]), user.branch(2, &["echo more >> b.txt"])];
    fs::write(user.tree().join("a.txt"), "changed by the user\n").unwrap();
    let before = user.git("status --porcelain");
    let merge = user.open(MergeStrategy::Merge).await;
    let built = merge.build("samuel/run", &work).await.unwrap();
    assert_eq!((tokens(&built), built.conflicts.len(), built.refused.len()), (vec![1, 2], 0, 0));
    assert_eq!(user.git("rev-parse samuel/run"), built.base, "nothing has moved");
    let landing = landing("samuel/run", &built);
    assert_eq!(merge.standing(&landing).await.unwrap(), BranchStanding::Untouched);
    assert_eq!(merge.advance(&landing).await.unwrap(), Moved::Done);
    assert_eq!(merge.standing(&landing).await.unwrap(), BranchStanding::Landed);
    assert_eq!(user.git("show samuel/run:c.txt samuel/run:b.txt"), "new\nb\nmore");
    assert_eq!(user.landed("samuel/run"), ["2", "1"]);
    assert_eq!(user.git("log -1 --format='%an <%ae> %cn' samuel/run"), "Ada <ada@example.org> Ada");
    let parents = user.git("log -1 --format=%P samuel/run");
    assert_eq!(parents.split(' ').nth(1), Some(work[1].commit.as_str()));
    assert_eq!(user.git("status --porcelain"), before, "the user's tree is as it was");
    user.git("fsck --strict --no-dangling");
    assert_eq!(merge.advance(&landing).await.unwrap(), Moved::Stale, "it lands once");
}

#[tokio::test]
async fn a_conflict_is_told_with_its_files_and_with_whom_it_is() {
    let user = User::new();
    let one = user.branch(1, &["sed -i s/two/ONE/ a.txt"]);
    let other = user.branch(2, &["sed -i s/two/OTHER/ a.txt", "echo x > x.txt"]);
    let third = user.branch(3, &["echo y > y.txt"]);
    let merge = user.open(MergeStrategy::Merge).await;
    let built = merge.build("samuel/run", &[one.clone(), other.clone(), third]).await.unwrap();
    assert_eq!(
        (tokens(&built), built.conflicts[0].files.as_slice()),
        (vec![1, 3], &["a.txt".to_owned()][..])
    );
    assert!(!built.conflicts[0].is_with_branch, "with another of the batch");
    let built = merge.build("samuel/run", &[one]).await.unwrap();
    merge.advance(&landing("samuel/run", &built)).await.unwrap();
    let built = merge.build("samuel/run", &[other]).await.unwrap();
    assert!(built.merged.is_empty() && built.conflicts[0].is_with_branch);
}

#[tokio::test]
async fn refuses_conflict_that_follows_from_no_landing() {
    let user = User::new();
    let one = user.branch(1, &["sed -i s/two/ONE/ a.txt"]);
    let merge = user.open(MergeStrategy::Merge).await;
    land(&merge, &[one]).await;
    // The agent left the commit that its work began at.
    let other = user.branch(2, &["git reset --quiet --hard HEAD~1 && sed -i s/two/OTHER/ a.txt"]);
    let built = merge.build("samuel/run", &[other]).await.unwrap();
    assert!(built.conflicts.is_empty(), "{:?}", built.conflicts);
    assert_eq!(built.refused[0].reason, "it is in conflict with its own base in a.txt");
}

#[tokio::test]
async fn work_brings_back_nothing_that_branch_lost() {
    let user = User::new();
    let merge = user.open(MergeStrategy::Merge).await;
    land(&merge, &[user.branch(1, &["echo secret > s.txt"])]).await;
    let work = user.branch(2, &["echo x > x.txt"]);
    let empty = user.branch(3, &[]);
    user.git("branch --force samuel/run main");
    let other = user.branch(4, &["echo y > y.txt"]);
    let built = merge.build("samuel/run", &[work, empty, other]).await.unwrap();
    let back: Vec<u64> = built.moved_back.iter().map(|key| key.token).collect();
    assert_eq!((tokens(&built), back), (vec![4], vec![2, 3]));
    let landed = &built.merged[0].landed;
    assert_eq!(user.git(&format!("ls-tree --name-only {landed}")), "a.txt\nb.txt\ny.txt");
}

#[tokio::test]
async fn every_strategy_names_each_claim_once_and_makes_the_same_tree() {
    let mut trees = Vec::new();
    for (strategy, commits) in
        [(MergeStrategy::Merge, 2), (MergeStrategy::Squash, 2), (MergeStrategy::Rebase, 3)]
    {
        let user = User::new();
        let work = [
            user.branch(1, &["echo 1 > c.txt", "echo 2 >> c.txt"]),
            user.branch(2, &["sed -i s/one/uno/ a.txt"]),
        ];
        let merge = user.open(strategy).await;
        let built = merge.build("samuel/run", &work).await.unwrap();
        assert_eq!(merge.advance(&landing("samuel/run", &built)).await.unwrap(), Moved::Done);
        assert_eq!(user.landed("samuel/run"), ["2", "1"], "{strategy}");
        let line = user.git("rev-list --first-parent --count main..samuel/run");
        assert_eq!(line, commits.to_string(), "{strategy}");
        if strategy == MergeStrategy::Rebase {
            let author = "Bob 2026-01-02T03:04:05";
            assert!(user.git("log -1 --format='%an %aI' samuel/run").starts_with(author));
        }
        trees.push(user.git("rev-parse samuel/run^{tree}"));
    }
    assert!(trees.windows(2).all(|pair| pair[0] == pair[1]), "{trees:?}");
}

#[tokio::test]
async fn a_branch_that_is_checked_out_is_moved_in_its_tree_and_keeps_what_is_in_no_commit() {
    let user = User::new();
    user.git("checkout --quiet samuel/run");
    let work = user.branch(1, &["echo more >> b.txt"]);
    let merge = user.open(MergeStrategy::Merge).await;
    let built = merge.build("samuel/run", &[work]).await.unwrap();
    let landing = landing("samuel/run", &built);
    fs::write(user.tree().join("a.txt"), "changed by the user\n").unwrap();
    fs::write(user.tree().join("b.txt"), "in the way\n").unwrap();
    match merge.advance(&landing).await.unwrap() {
        Moved::Held { reason } => assert_eq!(reason, "these files were changed there: b.txt"),
        moved => panic!("{moved:?}"),
    }
    assert_eq!(user.git("rev-parse HEAD"), built.base);
    assert_eq!(fs::read_to_string(user.tree().join("b.txt")).unwrap(), "in the way\n");
    user.git("checkout b.txt");
    assert_eq!(merge.advance(&landing).await.unwrap(), Moved::Done);
    assert_eq!(fs::read_to_string(user.tree().join("b.txt")).unwrap(), "b\nmore\n");
    assert_eq!(user.git("status --porcelain"), " M a.txt");
}

#[tokio::test]
async fn a_branch_that_another_work_tree_has_is_left_alone() {
    let user = User::new();
    let work = user.branch(1, &["echo new > c.txt"]);
    let elsewhere = user.path("elsewhere");
    user.git(&format!("worktree add --quiet {} samuel/run", elsewhere.display()));
    let merge = user.open(MergeStrategy::Merge).await;
    let built = merge.build("samuel/run", &[work]).await.unwrap();
    match merge.advance(&landing("samuel/run", &built)).await.unwrap() {
        Moved::Held { reason } => assert!(reason.ends_with(&elsewhere.display().to_string()), "{reason}"),
        moved => panic!("{moved:?}"),
    }
    assert_eq!(user.git("rev-parse samuel/run"), built.base);
}

#[tokio::test]
async fn what_others_push_makes_a_landing_stale_and_on_top_of_it_leaves_it_landed() {
    let user = User::new();
    let work = user.branch(1, &["echo new > c.txt"]);
    let merge = user.open(MergeStrategy::Merge).await;
    let built = merge.build("samuel/run", std::slice::from_ref(&work)).await.unwrap();
    let stale = landing("samuel/run", &built);
    let push = |user: &User| {
        let tree = user.git("rev-parse samuel/run^{tree}");
        let commit = user.git(&format!("commit-tree -p samuel/run -m Push {tree}"));
        user.git(&format!("update-ref refs/heads/samuel/run {commit}"));
    };
    push(&user);
    assert_eq!(merge.advance(&stale).await.unwrap(), Moved::Stale);
    assert_eq!(merge.standing(&stale).await.unwrap(), BranchStanding::Elsewhere);
    let built = merge.build("samuel/run", &[work]).await.unwrap();
    let landed = landing("samuel/run", &built);
    assert_eq!(merge.advance(&landed).await.unwrap(), Moved::Done);
    push(&user);
    assert_eq!(merge.standing(&landed).await.unwrap(), BranchStanding::Landed, "whatever came on top");
    let gone = UnsettledLanding { new: "0123456789".repeat(4), ..landed };
    assert_eq!(merge.standing(&gone).await.unwrap(), BranchStanding::Elsewhere);
}

#[tokio::test]
async fn no_program_of_the_repository_is_run_and_what_must_not_land_is_refused() {
    let user = User::new();
    let trap = format!("touch {}", user.canary().display());
    let attributes = "a.txt merge=trap filter=trap diff=trap";
    let one = user.branch(1, &[&format!("echo '{attributes}' > .gitattributes && sed -i s/one/uno/ a.txt")]);
    let other = user.branch(2, &["sed -i s/three/tre/ a.txt"]);
    let control = user.branch(3, &["echo x > samuel.toml"]);
    let link =
        user.branch(4, &["mkdir sub && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub"]);
    fs::write(user.tree().join(".git/info/attributes"), attributes).unwrap();
    for (name, value) in [
        ("merge.trap.driver", trap.clone()),
        ("filter.trap.clean", trap.clone()),
        ("filter.trap.smudge", trap.clone()),
        ("diff.trap.textconv", trap.clone()),
        ("core.fsmonitor", trap.clone()),
        ("gpg.program", trap.clone()),
    ] {
        user.git(&format!("config {name} '{value}'"));
    }
    user.git("config commit.gpgSign true");
    for hook in ["reference-transaction", "post-merge", "pre-merge-commit", "post-commit"] {
        let path = user.tree().join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{trap}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).unwrap();
    }
    let _ = fs::remove_file(user.canary());
    let merge = user.open(MergeStrategy::Merge).await;
    let built = merge.build("samuel/run", &[one, other, control, link]).await.unwrap();
    assert_eq!(merge.advance(&landing("samuel/run", &built)).await.unwrap(), Moved::Done);
    assert!(!user.canary().exists(), "a program of the repository was run");
    assert_eq!(tokens(&built), [1, 2]);
    assert_eq!(user.git("show samuel/run:a.txt"), "uno\ntwo\ntre");
    let refused: Vec<&str> = built.refused.iter().map(|refused| refused.reason.as_str()).collect();
    assert_eq!(refused[0], "it changes files that decide what runs: samuel.toml");
    assert!(refused[1].starts_with("it adds or changes the submodule sub"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_goes_once_its_work_has_landed_and_no_sooner() {
    let user = User::new();
    let merge = user.open(MergeStrategy::Merge).await;
    let work = user.branch(1, &["echo x > x.txt"]);
    let removes = async |commit: &str| merge.remove_branch(&work.branch, commit).await.unwrap();
    let is_there = || !user.git(&format!("branch --list {}", work.branch)).is_empty();
    assert!(!removes(&work.commit).await && is_there(), "nothing else has its work");
    user.git(&format!("update-ref refs/samuel/work/0123-lane-1 {}", work.commit));
    assert!(!removes(&work.commit).await && is_there(), "what has it goes with the next turn of a lane");
    let built = merge.build("samuel/run", std::slice::from_ref(&work)).await.unwrap();
    assert!(!removes(&work.commit).await && is_there(), "what is merged has not landed");
    assert_eq!(merge.advance(&landing("samuel/run", &built)).await.unwrap(), Moved::Done);
    let later = user.git(&format!("commit-tree -p {} -m Later {}^{{tree}}", work.commit, work.commit));
    user.git(&format!("update-ref refs/heads/{} {later}", work.branch));
    assert!(!removes(&work.commit).await && is_there(), "somebody went on");
    user.git(&format!("update-ref refs/heads/{} {}", work.branch, work.commit));
    let tree = user.path("elsewhere").display().to_string();
    user.git(&format!("worktree add --quiet {tree} {}", work.branch));
    assert!(!removes(&work.commit).await && is_there(), "somebody looks at it");
    user.git(&format!("worktree remove {tree}"));
    assert!(removes(&work.commit).await && !is_there());
    user.git(&format!("merge-base --is-ancestor {} samuel/run", work.commit));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_merged_together_is_looked_at_in_one_go_and_one_by_one_where_something_is_wrong_with_it() {
    let user = User::new();
    let (merge, log) = user.open_logged().await;
    let makes = |id: u64| user.branch(id, &[&format!("mkdir -p d && echo x > d/{id}.txt")]);
    let work: Vec<Submission> = (1..=3).map(makes).collect();
    let built = merge.build("samuel/run", &work).await.unwrap();
    assert_eq!(tokens(&built), [1, 2, 3]);
    let looks = || {
        let asked = fs::read_to_string(&log).unwrap();
        fs::write(&log, "").unwrap();
        asked.lines().filter(|line| line.contains("diff-tree --stdin")).count()
    };
    assert_eq!(looks(), 1);
    let mut before = built.base.clone();
    for (merged, work) in built.merged.iter().zip(&work) {
        let landed = &merged.landed;
        let parents = user.git(&format!("log -1 --format=%P {landed}"));
        assert_eq!(parents, format!("{before} {}", work.commit));
        assert_eq!(merged.tree, user.git(&format!("rev-parse {landed}^{{tree}}")));
        before.clone_from(landed);
    }
    assert_eq!(user.git(&format!("ls-tree --name-only {before} d/")), "d/1.txt\nd/2.txt\nd/3.txt");
    // What decides what runs is in one of them, or was on the way of one.
    let bad = user.branch(4, &["echo x > samuel.toml"]);
    let astray = user.branch(5, &["echo x > samuel.toml", "rm samuel.toml; echo x > 5.txt"]);
    // Two of them have a commit in common.
    let beyond = Submission { commit: work[0].commit.clone(), ..user.branch(6, &[]) };
    let all = [work[0].clone(), bad, work[1].clone(), astray.clone(), beyond];
    let built = merge.build("samuel/run", &all).await.unwrap();
    assert_eq!(tokens(&built), [1, 2, 5, 6]);
    assert_eq!(built.refused.iter().map(|refused| refused.key.token).collect::<Vec<_>>(), [4]);
    let squashed = user.git(&format!("log -1 --format=%P {}", built.merged[2].landed));
    assert_eq!(squashed, built.merged[1].landed, "nothing of its way lands");
    assert!(looks() > 1);
    for of in [[&all[0], &all[1]], [&all[0], &astray], [&all[0], &all[4]]] {
        let of = of.map(Clone::clone);
        merge.build("samuel/run", &of).await.unwrap();
        assert!(looks() > 1, "{:?}", of.map(|work| work.key.token));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_git_of_the_user_that_is_at_work_in_the_tree_keeps_its_lock_and_the_landing_waits() {
    let user = User::new();
    user.git("switch --quiet samuel/run");
    let programs = user.path("programs");
    fs::create_dir(&programs).unwrap();
    let lock = user.tree().join(".git/index.lock");
    // The user's git begins once Samuel has looked.
    let git = format!(
        "#!/bin/sh\ncase \"$*\" in *'merge --ff-only'*) test -e {once} || {{ : > {once}; : > {lock}; }};; esac\n\
         PATH={PATH}; export PATH; exec git \"$@\"\n",
        once = user.path("once").display(),
        lock = lock.display()
    );
    fs::write(programs.join("git"), git).unwrap();
    user.sh(&format!("chmod +x {}/git", programs.display()));
    let merge = user.open_with(MergeStrategy::Merge, format!("{}:{PATH}", programs.display())).await;
    let work = user.branch(1, &["echo x > x.txt"]);
    let built = merge.build("samuel/run", &[work]).await.unwrap();
    let held = merge.advance(&landing("samuel/run", &built)).await.unwrap();
    let Moved::Held { reason } = held else { panic!("{held:?}") };
    assert_eq!(reason, "another git is at work there (index.lock)");
    assert!(lock.exists() && !user.tree().join("x.txt").exists());
    fs::remove_file(&lock).unwrap();
    assert_eq!(merge.advance(&landing("samuel/run", &built)).await.unwrap(), Moved::Done);
    assert!(user.tree().join("x.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_git_that_could_not_lock_the_head_is_taken_back_and_whoever_has_it_keeps_it() {
    let user = User::new();
    user.git("switch --quiet samuel/run");
    let (programs, lock) = (user.path("programs"), user.tree().join(".git/HEAD.lock"));
    fs::create_dir(&programs).unwrap();
    let git = format!(
        "#!/bin/sh\ncase \"$*\" in *'merge --ff-only'*) test -e {once} || {{ : > {once}; : > {lock}; }};; esac\n\
         PATH={PATH}; export PATH; exec git \"$@\"\n",
        once = user.path("once").display(),
        lock = lock.display()
    );
    fs::write(programs.join("git"), git).unwrap();
    user.sh(&format!("chmod +x {}/git", programs.display()));
    let merge = user.open_with(MergeStrategy::Merge, format!("{}:{PATH}", programs.display())).await;
    let work = user.branch(1, &["echo x > x.txt"]);
    let built = merge.build("samuel/run", &[work]).await.unwrap();
    let held = merge.advance(&landing("samuel/run", &built)).await.unwrap();
    assert!(matches!(held, Moved::Held { .. }), "{held:?}");
    assert!(lock.exists() && !user.tree().join("x.txt").exists());
    fs::remove_file(&lock).unwrap();
    assert_eq!(user.git("status --porcelain"), "");
    assert_eq!(merge.advance(&landing("samuel/run", &built)).await.unwrap(), Moved::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_is_being_rebased_is_moved_once_that_is_over() {
    let user = User::new();
    let merge = user.open(MergeStrategy::Merge).await;
    let work = user.branch(1, &["echo x > x.txt"]);
    user.sh("git switch --quiet samuel/run; echo here > a.txt; git commit --quiet --all --message Here");
    user.sh("git switch --quiet main; echo there > a.txt; git commit --quiet --all --message There");
    let built = merge.build("samuel/run", &[work]).await.unwrap();
    user.sh("git switch --quiet samuel/run; ! git rebase --quiet main 2> ../rebase.log");
    let held = merge.advance(&landing("samuel/run", &built)).await.unwrap();
    assert_eq!(held, Moved::Held { reason: "samuel/run is being rebased".to_owned() });
    user.sh("git rebase --abort; git switch --quiet main");
    assert_eq!(merge.advance(&landing("samuel/run", &built)).await.unwrap(), Moved::Done);
}

#[tokio::test]
async fn a_branch_is_made_where_there_is_none_and_never_over_another() {
    let user = User::new();
    let merge = user.open(MergeStrategy::Merge).await;
    let head = user.git("rev-parse main");
    assert!(merge.make_branch("samuel/new", &head).await.unwrap());
    assert!(!merge.make_branch("main", &head).await.unwrap());
    assert_eq!(merge.head("samuel/new").await.unwrap(), Some(head));
    assert_eq!(merge.head("samuel/none").await.unwrap(), None);
    assert!(merge.head("a..b").await.is_err());
    assert!(merge.build("samuel/none", &[]).await.is_err());
}

/// Has a machine merge what was submitted to a store until nothing is left; checks fail while there is a
/// file `bad` in the tree.
async fn drive(user: &User, store: &dyn PlanStore, merge: &MergeRepository) {
    let claim = Mutation::Claim { task: Role::Merge.into(), worker: "merger".to_owned() };
    let role = store.mutate(claim, Actor::Runtime).unwrap().revision;
    let mut machine = MergeMachine::new(MergeSetup {
        role,
        into: "samuel/run".to_owned(),
        batch: NonZeroUsize::new(4).unwrap(),
        max_attempts: NonZeroU32::new(3),
        is_alone: true,
    });
    let mut input = MergeInput::Wake;
    for _ in 0..200 {
        input = match machine.step(input) {
            MergeEffect::Look => MergeInput::Queue(Queue::of(&store.load().unwrap().plan)),
            MergeEffect::Build { into, submissions } => {
                MergeInput::Built(merge.build(&into, &submissions).await.unwrap())
            }
            MergeEffect::Check { commit, .. } => {
                let files = user.git(&format!("ls-tree -r --name-only {commit}"));
                let is_red = files.lines().any(|file| file == "bad");
                MergeInput::Checked(if is_red { vec!["bad is there".to_owned()] } else { Vec::new() })
            }
            MergeEffect::Change(change) => MergeInput::Changed(match store.mutate(change, Actor::Runtime) {
                Ok(_) => Ok(()),
                Err(error) => Err(ClaimRefusal::of(&error).unwrap()),
            }),
            MergeEffect::Move(landing) => MergeInput::Moved(merge.advance(&landing).await.unwrap()),
            MergeEffect::Ask(landing) => MergeInput::Stands(merge.standing(&landing).await.unwrap()),
            MergeEffect::Wait => return,
            other => panic!("{other:?}"),
        };
    }
    panic!("it does not end");
}

#[tokio::test]
async fn of_what_was_submitted_the_innocent_land_and_the_others_go_back() {
    let user = User::new();
    let store = MemoryStore::new(Arc::new(SystemClock::new()));
    let tasks = ["1", "2", "3", "4", "5"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
    store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    let works: [&[&str]; 5] = [
        &["echo 1 > one.txt"],
        &["sed -i s/two/TWO/ a.txt"],
        &["echo 3 > bad"],
        &["sed -i s/two/DUE/ a.txt"],
        &["echo 5 > five.txt"],
    ];
    for (id, lines) in (1..).zip(works) {
        let Submission { branch, commit, base, .. } = user.branch(id, lines);
        let task = TaskId::new(id.to_string());
        let claim = Mutation::Claim { task: task.clone().into(), worker: format!("lane-{id}") };
        let token = store.mutate(claim, Actor::Runtime).unwrap().revision;
        let submit = Mutation::Submit { task, token, branch, commit, base, tree: None, iteration: None };
        store.mutate(submit, Actor::Runtime).unwrap();
    }
    let merge = user.open(MergeStrategy::Merge).await;
    drive(&user, &store, &merge).await;
    let plan = store.load().unwrap().plan;
    let stands: Vec<Status> = plan.tasks.iter().map(|task| task.status).collect();
    let (done, open) = (Status::Completed, Status::Pending);
    assert_eq!(stands, [done, done, open, open, done]);
    for task in plan.tasks.iter().filter(|task| task.status == done) {
        let commit = task.commit_sha.as_deref().unwrap();
        user.git(&format!("merge-base --is-ancestor {commit} samuel/run"));
    }
    assert_eq!(user.landed("samuel/run").len(), 3);
    let why = |id: &str| {
        let claim = plan.claim(&ClaimTarget::Task(TaskId::new(id))).unwrap();
        (claim.phase, claim.attempt, claim.why.clone().unwrap(), claim.branch.clone().unwrap())
    };
    let kept = |id: &str| format!("samuel/run-1/{id}-{id}");
    let bad = "the checks failed with it: bad is there".to_owned();
    assert_eq!(why("3"), (ClaimPhase::Released, 1, bad, kept("3")));
    assert_eq!(why("4"), (ClaimPhase::Released, 0, "it is in conflict in a.txt".to_owned(), kept("4")));
}
