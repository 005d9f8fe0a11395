//! The repository that all workers push to and fetch from.

use std::collections::{HashMap, HashSet};

use crate::{
    merge::{BranchStanding, Built, MergedWork, Moved, Submission, UnsettledLanding},
    model::TaskId,
};

/// Work as an agent made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) task: TaskId,
    pub(super) token: u64,
    /// Whether the checks fail with it.
    pub(super) is_bad: bool,
}

#[derive(Clone, Debug)]
struct Commit {
    parent: Option<String>,
    adds: Option<Made>,
}

/// Commits, and the branch that work lands on.
#[derive(Debug)]
pub(super) struct Remote {
    /// What was made, wherever it is.
    pub(super) made: HashMap<String, Made>,
    /// What can be fetched.
    pushed: HashSet<String>,
    /// What somebody else pushed to the branch.
    others: Vec<String>,
    commits: HashMap<String, Commit>,
    pub(super) head: String,
    pub(super) compares: bool,
}

impl Remote {
    pub(super) fn new() -> Self {
        let head = "00000000".to_owned();
        let commits = HashMap::from([(head.clone(), Commit { parent: None, adds: None })]);
        Self {
            made: HashMap::new(),
            pushed: HashSet::new(),
            others: Vec::new(),
            commits,
            head,
            compares: true,
        }
    }

    /// Has an agent commit something, which only its machine has.
    pub(super) fn make(&mut self, made: Made) -> String {
        let id = format!("abc{:05x}", self.made.len());
        self.made.insert(id.clone(), made);
        id
    }

    pub(super) fn push(&mut self, commit: &str) {
        self.pushed.insert(commit.to_owned());
    }

    fn commit(&mut self, parent: &str, adds: Option<Made>) -> String {
        let id = format!("{:08x}", self.commits.len());
        self.commits.insert(id.clone(), Commit { parent: Some(parent.to_owned()), adds });
        id
    }

    /// Somebody else pushes to the branch.
    pub(super) fn meddle(&mut self) {
        self.head = self.commit(&self.head.clone(), None);
        self.others.push(self.head.clone());
    }

    /// Returns a commit of somebody else that the branch has no more.
    pub(super) fn lost_of_others(&self) -> Option<&String> {
        let line = self.line(&self.head);
        self.others.iter().find(|commit| !line.contains(commit))
    }

    /// Returns the commits from one to the root.
    pub(super) fn line(&self, head: &str) -> Vec<String> {
        let parent = |id: &String| self.commits.get(id).and_then(|commit| commit.parent.clone());
        std::iter::successors(Some(head.to_owned()), parent).collect()
    }

    pub(super) fn landed(&self, head: &str) -> Vec<Made> {
        self.line(head).iter().filter_map(|id| self.commits[id].adds.clone()).collect()
    }

    pub(super) fn is_red(&self, commit: &str) -> bool {
        self.landed(commit).iter().any(|made| made.is_bad)
    }

    /// Merges on the head of the branch what can be fetched.
    pub(super) fn build(&mut self, submissions: &[Submission]) -> Result<Built, String> {
        let base = self.head.clone();
        let mut built = Built { base: base.clone(), ..Built::default() };
        let mut at = base;
        for Submission { key, commit, .. } in submissions {
            if !self.pushed.contains(commit) {
                return Err(format!("{commit} of task {} was submitted and cannot be fetched", key.task));
            }
            at = self.commit(&at, Some(self.made[commit].clone()));
            let (landed, tree) = (at.clone(), format!("tree {at}"));
            built.merged.push(MergedWork { key: key.clone(), commit: commit.clone(), landed, tree });
        }
        Ok(built)
    }

    /// Moves the branch by compare-and-set.
    pub(super) fn advance(&mut self, landing: &UnsettledLanding) -> Moved {
        if self.compares && self.head != landing.old {
            return Moved::Stale;
        }
        self.head.clone_from(&landing.new);
        Moved::Done
    }

    pub(super) fn stands(&self, landing: &UnsettledLanding) -> BranchStanding {
        match self.line(&self.head).contains(&landing.new) {
            true => BranchStanding::Landed,
            false if self.head == landing.old => BranchStanding::Untouched,
            false => BranchStanding::Elsewhere,
        }
    }
}
