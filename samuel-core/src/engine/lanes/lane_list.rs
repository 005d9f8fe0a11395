//! What runs have in a project: clones, branches and kept work, and what of it is merged: what `samuel run lanes`
//! lists, and `samuel run clean` removes. A plan that is completed is cleaned by its run.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use jiff::Timestamp;
use serde::Serialize;

use super::claiming::{branch_of, in_branch};
use crate::{
    engine::{
        builder::RunBuilder,
        error::{RunError, blocking, described},
        run::Run,
    },
    git::Repository,
    model::{Claim, ClaimPhase, Plan, TaskId, words},
    process::Supervisor,
    project::Project,
    state::{Holder, JournalEntry, Mutation, RunDir, StateError},
    workspace::{LaneRemains, RemainingRef, RemainingTree, RemainsSetup, WorkspaceKind},
};

words! {
    /// How a branch of a lane stands.
    LaneStanding ("standing of a branch") {
        /// A lane works on it.
        Working = "working",
        /// It waits to be merged, is held, or is being landed.
        Waits = "waits",
        /// Nothing was made on it.
        Empty = "empty",
        /// Its work is on another branch.
        Landed = "landed",
        /// It has work that is on no other branch.
        Left = "left",
    }
}

/// What lanes have in a project.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LaneList {
    /// The branch that work lands on; nothing where that is not known.
    pub into: Option<String>,
    /// Whether a loop is at work.
    pub is_running: bool,
    /// The work trees, by name.
    pub work_trees: Vec<LaneWorkTree>,
    /// The branches, and the references of kept work, oldest first.
    pub branches: Vec<LaneBranch>,
}

/// A clone in which a worker or a single loop works, or the queue checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaneWorkTree {
    /// Its name: `lane-1`, `queue`, `loop`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// The task that is worked on there.
    pub task: Option<TaskId>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// The branch that is checked out; nothing between branches.
    pub branch: Option<String>,
    /// A branch that has what is checked out, where one does.
    pub landed_on: Option<String>,
    /// Why it must not be removed, where that is so. No git is run there to find out.
    pub holds: Option<String>,
}

/// A branch of a lane, or a reference of kept work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaneBranch {
    /// Its name, as `git log` takes it.
    pub name: String,
    /// The task, where that is known.
    pub task: Option<TaskId>,
    /// How it stands.
    pub standing: LaneStanding,
    /// A branch that has its work, where one does.
    pub landed_on: Option<String>,
    /// How many of its commits no branch of the user's has.
    pub ahead: u64,
    /// Its last commit.
    pub commit: String,
    /// When that was made.
    pub since: Timestamp,
    /// The work tree in which it is checked out, if it is in one.
    pub checked_out: Option<PathBuf>,
}

/// What was removed of what lanes left, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CleanedLanes {
    /// The names of the branches and work trees that are gone.
    pub removed: Vec<String>,
    /// What stays.
    pub kept: Vec<KeptOfLanes>,
}

/// Something that lanes left and that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptOfLanes {
    /// The branch, reference or work tree.
    pub name: String,
    /// Why, in one line.
    pub why: String,
}

impl RunBuilder {
    /// Lists what lanes have in the project. Changes nothing.
    ///
    /// # Errors
    /// Returns [`RunError::State`] where the plan cannot be read, and [`RunError::Workspace`] where the repository
    /// cannot.
    pub async fn lanes(self) -> Result<LaneList, RunError> {
        self.looker().list().await
    }

    /// Removes what runs left whose work is merged: branches, references of kept work, and clones, with what git ignores
    /// there.
    ///
    /// # Errors
    /// As [`lanes`](Self::lanes), and [`RunError::State`] where a loop is at work.
    pub async fn clean(self) -> Result<CleanedLanes, RunError> {
        self.looker().clean().await
    }

    fn looker(self) -> Looker {
        let supervisor = self.supervisor.unwrap_or_default();
        Looker { project: self.project, env: self.env, supervisor }
    }
}

impl Run {
    /// Lists what lanes have in the project. Changes nothing.
    ///
    /// # Errors
    /// As [`RunBuilder::lanes`].
    pub async fn lanes(&self) -> Result<LaneList, RunError> {
        self.looker().list().await
    }

    /// Removes what runs left whose work is merged, as [`RunBuilder::clean`] does.
    ///
    /// # Errors
    /// As [`RunBuilder::clean`].
    pub async fn clean(&self) -> Result<CleanedLanes, RunError> {
        self.looker().clean().await
    }

    pub(in crate::engine) fn looker(&self) -> Looker {
        let (project, env) = (self.frozen.project.clone(), self.frozen.env.clone());
        Looker { project, env, supervisor: self.frozen.supervisor.clone() }
    }
}

/// Which branches and references of kept work are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// All, so that it is known why each stays.
    All,
    /// Those that were merged: nobody waits for a look at all that earlier runs kept.
    Merged,
}

/// Lists and removes what runs left.
#[derive(Debug)]
pub(in crate::engine) struct Looker {
    project: Project,
    /// The environment, of which git gets what it needs.
    env: Vec<(String, String)>,
    supervisor: Supervisor,
}

impl Looker {
    async fn list(&self) -> Result<LaneList, RunError> {
        let known = Known::of(&self.project, None).await?;
        Ok(match self.remains(&known).await? {
            Some(remains) => known.list(remains.trees().await?, self.refs(&remains, None).await?),
            None => known.list(Vec::new(), Vec::new()),
        })
    }

    async fn clean(&self) -> Result<CleanedLanes, RunError> {
        let project = self.project.clone();
        let locked = blocking(move || {
            let run_dir = project.run_dir();
            if !project.plan_store().exists()? {
                return Err(StateError::NotInitialised { path: run_dir.prd() });
            }
            run_dir.create()?;
            let holder = Holder::this_process(project.clock().now(), "clean");
            project.lane_store().lock_loop(&holder.of_methodology(project.methodology()))
        });
        let _lock = locked.await??;
        self.clean_locked(Looked::All).await
    }

    /// Removes what is merged once a plan is completed. Returns what people should know.
    pub(in crate::engine) async fn clean_at_end(&self) -> Option<String> {
        let error = self.clean_locked(Looked::Merged).await.err()?;
        Some(format!("merged branches and workspaces stay until they are cleaned: {}", described(&error)))
    }

    /// Removes what is merged, while this process holds the lock of the loop.
    pub(super) async fn clean_locked(&self, looked: Looked) -> Result<CleanedLanes, RunError> {
        let known = Known::of(&self.project, Some(false)).await?;
        let mut cleaned = CleanedLanes::default();
        let Some(remains) = self.remains(&known).await? else { return Ok(cleaned) };
        remains.go_on_removing().await?;
        let mut keep = |name: String, why: String| cleaned.kept.push(KeptOfLanes { name, why });
        let mut removed = Vec::new();
        for tree in remains.trees().await? {
            let listed = known.tree(&tree);
            match known.why_tree_stays(&listed) {
                Some(why) => keep(listed.name, why),
                None => match remains.remove_tree(&tree.path).await {
                    Ok(()) => removed.push(listed.name),
                    Err(error) => keep(listed.name, described(&error)),
                },
            }
        }
        let only = match looked {
            Looked::All => None,
            Looked::Merged => Some(remains.merged(known.into.as_deref()).await?),
        };
        for of in self.refs(&remains, only.as_ref()).await? {
            let listed = known.branch(&of);
            let is_ours = of.results_of().is_none_or(|run| known.is_ours(run, &listed.name));
            let why = known.why_branch_stays(&listed).or_else(|| (!is_ours).then(|| OF_ANOTHER.to_owned()));
            match why {
                Some(why) => keep(listed.name, why),
                None => match remains.remove_ref(&of).await? {
                    Ok(()) => removed.push(listed.name),
                    Err(why) => keep(listed.name, why),
                },
            }
        }
        remains.remove_refs_of_gone().await?;
        cleaned.removed = removed;
        Ok(cleaned)
    }

    /// Returns the branches and references that are left. Results of a run have landed if what is checked out has their
    /// files, as after a squash: the status counts them so.
    async fn refs(
        &self,
        remains: &LaneRemains,
        only: Option<&HashSet<String>>,
    ) -> Result<Vec<RemainingRef>, RunError> {
        let mut refs = remains.refs(only).await?;
        for of in refs.iter_mut().filter(|of| of.landed.is_none() && of.results_of().is_some()) {
            let (project, commit) = (self.project.clone(), of.commit.clone());
            let merged = blocking(move || {
                let repository = Repository::open(project.root(), project.caller()).ok().flatten()?;
                let branch = repository.branch().unwrap_or_else(|| "HEAD".to_owned());
                project.has_merged(&commit).then_some(branch)
            });
            of.landed = merged.await?;
            if of.landed.is_some() {
                of.ahead = 0;
            }
        }
        Ok(refs)
    }

    async fn remains(&self, known: &Known) -> Result<Option<LaneRemains>, RunError> {
        let project = &self.project;
        let Some(state_dir) = project.state_dir().filter(|_| !project.is_in_memory()) else {
            return Ok(None);
        };
        let setup = RemainsSetup {
            root: project.root().to_owned(),
            directory: WorkspaceKind::lanes_directory_of(state_dir, project.root()),
            caller: project.caller().clone(),
            env: self.env.clone(),
            supervisor: self.supervisor.clone(),
            landed_as: known.landed_as.clone(),
        };
        Ok(LaneRemains::open(setup).await?)
    }
}

/// Why the results of a run stay of which nothing is known here.
const OF_ANOTHER: &str =
    "it is of a run that is not known here: perhaps of another project in this repository";

/// What the plan and its journal tell of lanes.
struct Known {
    plan: Arc<Plan>,
    run_dir: RunDir,
    /// The branches that were landed on.
    landed_on: HashSet<String>,
    into: Option<String>,
    is_running: bool,
    /// What submitted commits landed as, with the tokens of their claims.
    landed_as: HashMap<String, (u64, String)>,
    /// When tasks were claimed, by the tokens of the claims.
    claimed_at: HashMap<u64, Timestamp>,
}

impl Known {
    /// Reads it; whether a loop is at work is found out, unless it is said.
    async fn of(project: &Project, is_running: Option<bool>) -> Result<Self, RunError> {
        let project = project.clone();
        let read = blocking(move || {
            let store = project.plan_store();
            let plan = store.load()?.plan;
            let (mut landed_as, mut landed_on) = (HashMap::new(), HashSet::new());
            let mut claimed_at = HashMap::new();
            for record in store.journal_since(0)?.records {
                if let JournalEntry::Mutation { mutation: Mutation::Claim { .. }, .. } = record.entry {
                    claimed_at.insert(record.revision, record.at);
                }
                if let JournalEntry::Mutation { mutation: Mutation::Landing { claims, into, .. }, .. } =
                    record.entry
                {
                    landed_on.insert(into);
                    let landed = claims.into_iter().map(|claim| (claim.commit, (claim.token, claim.landed)));
                    landed_as.extend(landed);
                }
            }
            let is_running = match is_running {
                Some(is_running) => is_running,
                None => project.lane_store().loop_holder()?.is_some(),
            };
            let configured = Some(project.settings().parallel.into).filter(|into| !into.is_empty());
            let into = configured.or_else(|| project.known_into(&plan));
            let run_dir = project.run_dir();
            Ok::<_, StateError>(Self { plan, run_dir, landed_on, into, is_running, landed_as, claimed_at })
        });
        Ok(read.await??)
    }

    /// Says whether the branch with the results of a run is of a run of this plan: others in the repository may be at
    /// work on theirs.
    fn is_ours(&self, run: &str, branch: &str) -> bool {
        self.into.as_deref() == Some(branch)
            || self.landed_on.contains(branch)
            || self.run_dir.logs(run).is_dir()
    }

    fn list(&self, trees: Vec<RemainingTree>, refs: Vec<RemainingRef>) -> LaneList {
        LaneList {
            into: self.into.clone(),
            is_running: self.is_running,
            work_trees: trees.iter().map(|tree| self.tree(tree)).collect(),
            branches: refs.iter().map(|of| self.branch(of)).collect(),
        }
    }

    fn tree(&self, tree: &RemainingTree) -> LaneWorkTree {
        let name = tree.name.clone();
        let part = |claim: &&Claim| {
            self.is_running
                && claim.phase == ClaimPhase::Working
                && claim.worker.as_deref().and_then(|worker| worker.rsplit_once('/')).map(|(_, part)| part)
                    == Some(name.as_str())
        };
        let claim = self.plan.claims.iter().find(part);
        LaneWorkTree {
            task: claim.and_then(|claim| claim.task.task()).cloned(),
            since: claim.map(|claim| claim.since),
            name,
            path: tree.path.clone(),
            branch: tree.branch.clone(),
            landed_on: tree.landed.clone(),
            holds: tree.holds.map(str::to_owned),
        }
    }

    fn branch(&self, of: &RemainingRef) -> LaneBranch {
        let name = of.reference.trim_start_matches("refs/heads/").to_owned();
        let claim = self.claim_of(&name);
        let standing = match claim.map(|claim| claim.phase) {
            // Where no loop is at work its lane is gone.
            Some(ClaimPhase::Working) if self.is_running => LaneStanding::Working,
            Some(phase) if phase.is_in_queue() => LaneStanding::Waits,
            _ if of.landed.is_some() && self.is_empty(of, &name) => LaneStanding::Empty,
            _ if of.landed.is_some() => LaneStanding::Landed,
            _ => LaneStanding::Left,
        };
        let task = claim.and_then(|claim| claim.task.task()).cloned();
        LaneBranch {
            task: task.or_else(|| self.task_named(&name)),
            name,
            standing,
            landed_on: of.landed.clone(),
            ahead: of.ahead,
            commit: of.commit.clone(),
            since: of.at,
            checked_out: of.checked_out.clone(),
        }
    }

    /// Says whether the last commit of a branch was there before its task was claimed, and was submitted by nobody.
    fn is_empty(&self, of: &RemainingRef, name: &str) -> bool {
        let token = name.rsplit('-').next().and_then(|token| token.parse::<u64>().ok());
        let claimed_at = token.and_then(|token| self.claimed_at.get(&token));
        let is_before = |claimed: &Timestamp| of.at.as_second() <= claimed.as_second();
        of.reference.starts_with("refs/heads/")
            && claimed_at.is_some_and(is_before)
            && !self.landed_as.contains_key(&of.commit)
    }

    /// Returns the claim whose work is on a branch.
    fn claim_of(&self, name: &str) -> Option<&Claim> {
        self.plan.claims.iter().find(|claim| match claim.phase {
            ClaimPhase::Working => {
                let run = claim.worker.as_deref().and_then(|worker| worker.rsplit_once('/'));
                let task = claim.task.task();
                task.zip(run).is_some_and(|(task, (run, _))| branch_of(run, task, claim.token) == name)
            }
            _ => claim.task.task().is_some() && claim.branch.as_deref() == Some(name),
        })
    }

    /// Returns the task that a branch is named for: `samuel/<run>/<task>-<token>`. The name of kept work may
    /// have one more number, or the beginning of a commit, at its end.
    fn task_named(&self, name: &str) -> Option<TaskId> {
        let (task, _) = name.rsplit('/').next()?.rsplit_once('-')?;
        let shorter = task.rsplit_once('-').map(|(task, _)| task);
        let named =
            |named: &str| self.plan.tasks.iter().map(|task| &task.id).find(|id| in_branch(id) == named);
        named(task).or_else(|| named(shorter?)).cloned()
    }

    fn why_tree_stays(&self, tree: &LaneWorkTree) -> Option<String> {
        if let Some(task) = &tree.task {
            return Some(format!("task {task} is being worked on there"));
        }
        if let Some(holds) = &tree.holds {
            return Some(holds.clone());
        }
        // What the queue checks last is kept where it was submitted.
        let is_elsewhere = tree.landed_on.is_some() || tree.name == "queue";
        (!is_elsewhere).then(|| "what is checked out there is on no branch of yours".to_owned())
    }

    fn why_branch_stays(&self, branch: &LaneBranch) -> Option<String> {
        if let Some(path) = &branch.checked_out {
            return Some(format!("it is checked out in {}", path.display()));
        }
        let waits = || {
            let is_open = |claim: &Claim| claim.is_live() && claim.phase != ClaimPhase::Working;
            self.plan.claims.iter().any(is_open)
        };
        match (branch.standing, &branch.task) {
            (LaneStanding::Working, Some(task)) => Some(format!("task {task} is being worked on")),
            (LaneStanding::Waits, Some(task)) => Some(format!("task {task} waits to be landed")),
            (LaneStanding::Working | LaneStanding::Waits, None) => Some("it is in use".to_owned()),
            (LaneStanding::Landed, _) if self.into.as_deref() == Some(&branch.name) && waits() => {
                Some("work waits to be landed on it".to_owned())
            }
            (LaneStanding::Landed | LaneStanding::Empty, _) => None,
            (LaneStanding::Left, _) => Some(match branch.ahead {
                1 => "it has 1 commit that is on no branch of yours".to_owned(),
                ahead => format!("it has {ahead} commits that are on no branch of yours"),
            }),
        }
    }
}
