//! The last plans of a project, kept outside of its work tree.
//!
//! What is in the work tree goes with `git clean`, with a truncated file or with
//! an agent that tidies up. [`KeptPlans`] is a directory of the caller's, of
//! which a project has a part. Beside the plan that is there it holds those from
//! which something was lost: a plan takes the place of the one before only if it
//! has all of its tasks. They are copies for that case alone, so that nobody
//! waits for the disk to have them.

use std::{
    collections::HashSet,
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use rustix::fs::{Access, access};
use serde::Serialize;

use super::{FileStore, PlanStore, RunDir, StateError, file::digest_of, files, plan_file, run_dir::named_in};
use samuel_fs::{Durability, PRIVATE_DIRECTORY, Root};
use samuel_model::{Plan, Remedy, Status, TaskId, text::counted_are};

/// How many plans of a project are kept.
const MAX_PLANS: usize = 10;
/// Where the plans of all projects are, below the caller's directory.
const DIRECTORY: &str = "plans";
/// How many entries of a project's directory are looked at.
const MAX_ENTRIES: usize = 1_024;
/// How many digits of the digest of its path name a project.
const KEY_DIGITS: usize = 32;

/// Where the last plans of a project are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPlans {
    dir: PathBuf,
}

/// A plan that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptPlan {
    /// Its number, which grows from plan to plan.
    pub number: u64,
    /// When it was last changed.
    pub updated_at: Option<Timestamp>,
    /// The project's name in it.
    pub project: String,
    /// Its revision.
    pub revision: u64,
    /// How many tasks it has.
    pub tasks: usize,
    /// How many of them are completed.
    pub completed: usize,
    /// Whether the plan in the work tree has all of its tasks, however far they are.
    pub current: bool,
}

/// Where a plan is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the place of the one before, if it has all of its tasks.
    OfLast,
    /// Beside the one before.
    Beside,
}

impl KeptPlans {
    /// Names where the plans of a run directory are kept, below a directory that
    /// is the user's alone. Touches nothing.
    pub fn of(state_dir: &Path, dir: &RunDir) -> Self {
        let root = dir.root().path();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let within = dir.path().strip_prefix(dir.root().path()).unwrap_or(dir.path());
        let mut key = digest_of([root.join(within).as_os_str().as_encoded_bytes()]);
        key.truncate(KEY_DIGITS);
        Self { dir: state_dir.join(DIRECTORY).join(key) }
    }

    /// Returns the directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the methodology that the last plan names, if it can be read so far.
    pub(super) fn methodology(&self) -> Option<String> {
        let last = *self.numbers().ok()?.last()?;
        named_in(&*self.read(last).ok()??)
    }

    /// Makes the directory where it is missing.
    pub(super) fn make_dir(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(&self.dir)
    }

    /// Returns the numbers of the plans that are kept, ascending.
    fn numbers(&self) -> io::Result<Vec<u64>> {
        let entries = match std::fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let name = |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let names = entries.take(MAX_ENTRIES).filter_map(name);
        let mut numbers: Vec<u64> =
            names.filter_map(|name| name.strip_suffix(".toon")?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(super) fn path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number}.toon"))
    }

    pub(super) fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StateError> {
        files::read(&Root::new(&self.dir), &self.path(number))
    }

    /// Returns the plans that are kept, as far as they can be read.
    pub(super) fn contents(&self) -> Vec<Vec<u8>> {
        let numbers = self.numbers().unwrap_or_default();
        numbers.into_iter().filter_map(|number| self.read(number).ok().flatten()).collect()
    }

    /// Keeps a plan, and returns its number.
    fn keep(&self, text: &str, place: Place) -> Result<u64, StateError> {
        let unusable = |error| StateError::io("use", &self.dir)(error);
        let numbers = self.numbers().map_err(unusable)?;
        if numbers.is_empty() {
            self.make_dir().map_err(unusable)?;
        }
        let number = match numbers.last() {
            None => 1,
            Some(last) => match self.read(*last)? {
                Some(before) if before == text.as_bytes() => return Ok(*last),
                Some(before) if place == Place::OfLast && has_all_of(text, &before) => *last,
                _ => last.saturating_add(1),
            },
        };
        files::write(&Root::new(&self.dir), &self.path(number), text.as_bytes(), Durability::Unsynced)?;
        let too_many = (numbers.len() + usize::from(!numbers.contains(&number))).saturating_sub(MAX_PLANS);
        for old in numbers.iter().take(too_many) {
            // The next one that is kept tries again.
            let _ = std::fs::remove_file(self.path(*old));
        }
        Ok(number)
    }
}

/// Says whether a text has all tasks of another one, of the same plan. Where
/// that is not plain it has not.
fn has_all_of(text: &str, before: &[u8]) -> bool {
    let Some((now, before)) =
        plan_file::outline(text).zip(str::from_utf8(before).ok().and_then(plan_file::outline))
    else {
        return false;
    };
    if now.created_at != before.created_at {
        return false;
    }
    let in_place = before.ids.iter().zip(&now.ids).take_while(|(before, now)| before == now).count();
    let (old, new) = (before.ids.iter().skip(in_place), now.ids.iter().skip(in_place));
    let new: HashSet<&&str> = new.collect();
    old.into_iter().all(|id| new.contains(id))
}

/// Says whether a plan has all tasks of another version of it, whatever they say by now and however far
/// they are: what people and agents change of a task is no loss.
fn has_tasks_of(now: &Plan, kept: &Plan) -> bool {
    let ids: HashSet<&TaskId> = now.tasks.iter().map(|task| &task.id).collect();
    now.project.created_at == kept.project.created_at && kept.tasks.iter().all(|task| ids.contains(&task.id))
}

impl FileStore {
    /// Keeps a plan outside of the work tree, where the caller named one.
    pub(super) fn keep<'a>(&self, pieces: impl Iterator<Item = &'a str>, place: Place) {
        let Some(kept) = &self.kept else { return };
        // The plan itself is stored, and a place that cannot be used is no reason
        // not to work.
        if let Err(error) = kept.keep(&pieces.collect::<String>(), place) {
            tracing::warn!(dir = %kept.dir.display(), %error, "the plan is not kept outside of the work tree");
        }
    }

    /// Keeps the plan that is there, before another one replaces it, and returns its
    /// number: none where the caller named no place, nor where it cannot be read.
    pub(super) fn keep_present(&self) -> Option<u64> {
        let (kept, file) = (self.kept.as_ref()?, self.read_plan().ok()?);
        kept.keep(str::from_utf8(&file.content).ok()?, Place::OfLast).ok()
    }

    /// Returns the reason why copies of the plan cannot be kept outside of the work tree. Returns `None` if they can, or
    /// if the caller named no directory for them. Writes nothing.
    #[doc(hidden)]
    pub fn cannot_keep(&self) -> Option<String> {
        let dir = &self.kept.as_ref()?.dir;
        // What is missing is made once there is a plan to keep.
        let there = dir.ancestors().find(|path| path.symlink_metadata().is_ok())?;
        let reason = match there.is_dir() {
            false => "it is not a directory".to_owned(),
            true => access(there, Access::WRITE_OK | Access::EXEC_OK).err()?.to_string(),
        };
        Some(format!("no plan is kept outside of the work tree: {}: {reason}", there.display()))
    }

    /// Returns the plans that are kept outside of the work tree, oldest first.
    ///
    /// # Errors
    /// Returns [`StateError::Io`].
    pub fn kept_plans(&self) -> Result<Vec<KeptPlan>, StateError> {
        let Some(kept) = &self.kept else { return Ok(Vec::new()) };
        let here = self.load().ok();
        let mut plans = Vec::new();
        for number in kept.numbers().map_err(StateError::io("read", &kept.dir))? {
            // One that is gone meanwhile, or is none, is not to be had.
            let Ok(Some(content)) = kept.read(number) else { continue };
            let Ok((document, _)) = plan_file::decode(&kept.path(number), &content) else { continue };
            let plan = &document.plan;
            plans.push(KeptPlan {
                number,
                updated_at: plan.project.updated_at,
                project: plan.project.name.clone(),
                revision: plan.revision,
                tasks: plan.tasks.len(),
                completed: plan.count(Status::Completed),
                current: here.as_ref().is_some_and(|here| has_tasks_of(&here.plan, plan)),
            });
        }
        Ok(plans)
    }

    /// Offers the plans with tasks that are kept, for whoever finds none in the work
    /// tree that can be used; nothing where there are none.
    pub fn kept_instead(&self) -> Option<Remedy> {
        let plans = self.kept_plans().unwrap_or_default();
        match plans.iter().filter(|plan| plan.tasks > 0).count() {
            0 => None,
            count => Some(Remedy::RestorePlan { kept: counted_are(count, "plan") }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use std::{fs, sync::Arc};

    use super::*;
    use crate::{Actor, Existing, Mutation, NewTask};
    use samuel_model::{ProgressStatus, Task, Usage, clock::SystemClock, payload::Mode};

    fn store(root: &Path) -> FileStore {
        let dir = RunDir::new(root.join("project"));
        fs::create_dir_all(root.join("project")).unwrap();
        let kept = KeptPlans::of(&root.join("state"), &dir);
        FileStore::new(dir, Arc::new(SystemClock::new())).keeping_plans(kept)
    }

    fn import(store: &FileStore, ids: &[&str]) {
        let tasks = ids.iter().map(|id| Task::new(TaskId::new(*id), "t")).collect();
        store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Replace).unwrap();
    }

    fn enqueue(store: &FileStore) {
        store.mutate(Mutation::Enqueue { task: NewTask::new("more") }, Actor::User).unwrap();
    }

    fn kept(store: &FileStore) -> Vec<(u64, usize, bool)> {
        let plans = store.kept_plans().unwrap();
        plans.iter().map(|plan| (plan.number, plan.tasks, plan.current)).collect()
    }

    #[test]
    fn a_plan_takes_the_place_of_one_only_if_it_has_all_of_its_tasks() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        import(&store, &["1", "2"]);
        enqueue(&store);
        assert_eq!(kept(&store), [(1, 3, true)]);
        let text = fs::read_to_string(store.dir().prd()).unwrap();
        let row = text.lines().find(|line| line.starts_with("  \"2\",")).unwrap();
        let less = text.replace(&format!("{row}\n"), "").replace("tasks[3]", "tasks[2]");
        fs::write(store.dir().prd(), less).unwrap();
        enqueue(&store);
        assert_eq!(kept(&store), [(1, 3, false), (2, 3, true)]);
        // Another plan with the same ids is another plan.
        import(&store, &["1", "2", "3", "4"]);
        assert_eq!(kept(&store), [(1, 3, false), (2, 3, false), (3, 4, true)]);
    }

    #[test]
    fn ten_plans_are_kept_and_any_of_them_can_be_put_back() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        for number in 1..=12 {
            import(&store, &[&number.to_string()]);
        }
        assert_eq!(kept(&store).first(), Some(&(3, 1, false)));
        assert_eq!(kept(&store).len(), MAX_PLANS);
        fs::remove_dir_all(root.path().join("project/.samuel")).unwrap();
        let restored = store.restore(None, Actor::User).unwrap();
        assert_eq!((restored.kept.number, restored.backup), (12, None));
        assert!(store.load().unwrap().plan.task(&TaskId::new("12")).is_some());
        let restored = store.restore(Some(5), Actor::User).unwrap();
        assert!(restored.backup.is_some());
        assert!(store.load().unwrap().plan.task(&TaskId::new("5")).is_some());
        let error = store.restore(Some(99), Actor::User).unwrap_err();
        assert_eq!(error.to_string(), "no kept plan has the number 99");
    }

    #[test]
    fn without_a_number_the_lost_plan_comes_back_and_not_an_earlier_state_of_the_present_one() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        let change = |mutation| store.mutate(mutation, Actor::Runtime).unwrap();
        let set = |status| change(Mutation::SetProgressStatus { status });
        for id in ["1", "2"] {
            import(&store, &[id]);
            set(ProgressStatus::Running);
            let usage = Usage::default();
            change(Mutation::CommitIteration {
                iteration: 1,
                mode: Mode::Implementation,
                usage,
                credits: Vec::new(),
            });
            set(ProgressStatus::Stopped);
            change(Mutation::Skip { id: TaskId::new(id), reason: None });
        }
        assert_eq!(kept(&store), [(1, 1, false), (2, 1, true)]);
        // A plan without a task is none that somebody lost.
        import(&store, &[]);
        import(&store, &["2"]);
        let restored = store.restore(None, Actor::User).unwrap();
        assert_eq!(restored.kept.number, 2, "the plan made last has the same id, and is another one");
        assert_eq!(store.restore(Some(1), Actor::User).unwrap().kept.number, 1);
        let plan = store.load().unwrap().plan;
        assert!(plan.task(&TaskId::new("1")).is_some());
        assert_eq!(plan.progress.status, ProgressStatus::Stopped);
    }

    #[test]
    fn a_plan_that_is_kept_beside_the_last_stays() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        import(&store, &["1"]);
        store.catch_up(0).unwrap();
        let text = fs::read_to_string(store.dir().prd()).unwrap();
        fs::write(store.dir().prd(), text.replace("\"1\",t,", "\"1\",u,")).unwrap();
        store.catch_up(0).unwrap();
        enqueue(&store);
        assert_eq!(kept(&store), [(1, 1, true), (2, 2, true)]);
        // What is no text is no plan.
        fs::write(store.dir().prd(), b"\xff\xfe").unwrap();
        store.catch_up(0).unwrap();
        assert_eq!(kept(&store), [(1, 1, true), (2, 2, true)]);
    }

    #[test]
    fn the_directory_and_its_plans_are_the_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        import(&store, &["1"]);
        let dir = store.kept.as_ref().unwrap().dir.clone();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&dir), mode(dir.parent().unwrap()), mode(&dir.join("1.toon"))),
            (0o700, 0o700, 0o600)
        );
    }

    #[test]
    fn a_place_where_no_plan_can_be_kept_is_told() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        assert_eq!(store.cannot_keep(), None);
        fs::write(root.path().join("state"), "").unwrap();
        let told = store.cannot_keep().unwrap();
        assert!(told.ends_with("state: it is not a directory"), "{told}");
    }
}
