//! State in a run directory.
//!
//! A [`FileStore`] changes `prd.toon` under the directory's `lock`, in this
//! order:
//!
//! 1. the new plan is written and synced under a temporary name,
//! 2. the change is appended to the journal, which is synced,
//! 3. the new plan takes the place of the old one, and the directory is synced.
//!
//! What fails before 2 leaves no trace; a failure of 3 takes the journal's
//! record back. A crash between 2 and 3 leaves a record of a change that
//! nobody was told of: it names the revision it was applied to, and the next
//! writer that finds the plan at that revision applies it again. So whatever
//! is acknowledged stands in both files, and the journal never tells of a
//! change that does not happen. If an older plan was put back by hand, the
//! revisions disagree, the plan counts, and the next revision is higher than
//! any before.
//!
//! Readers of the plan take no lock: they see the old or the new file.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::AtomicBool},
    time::Duration,
};

use jiff::Timestamp;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::{
    Actor, Applied, Asker, CaughtUp, Existing, Holder, Imported, JournalEntry, JournalPart, JournalRecord,
    KeptPlans, LOCK_WAIT, LastWritten, LoadedPlan, Mutation, PlanStore, ProgressEntry, ProgressLog, Replaced,
    RunDir, StateError, TaskChange, Watch, WorkTreeId,
    acknowledged::Acknowledged,
    blocked::refuse_opening,
    files, import,
    journal::{After, JournalFile, ROTATE_BYTES, Tail, revision_after},
    kept::Place,
    known_log::KnownLog,
    last_read::{LastRead, PlanFile},
    lock::FileLock,
    loop_lock::FileLoopLock,
    plan_file::{self, Document},
    plan_store::UnlandedWork,
    progress::{MAX_LOG_BYTES, split_for_rotation},
    refused,
    room::Written,
    undo::{self, is_undoable},
    watched_files,
};
use samuel_fs::{Durability, FileError, Manner, Root, found};
use samuel_model::{Plan, ProgressStatus, clock::Clock, hex};

/// Keeps state in a run directory, which several processes may use at once.
#[derive(Clone, Debug)]
pub struct FileStore {
    dir: RunDir,
    clock: Arc<dyn Clock>,
    lock_wait: Duration,
    pub(super) last_read: Arc<LastRead>,
    pub(super) acknowledged: Arc<Mutex<Option<Acknowledged>>>,
    pub(super) written: Arc<Written>,
    pub(super) keeps_tasks: Arc<AtomicBool>,
    pub(super) kept: Option<KeptPlans>,
    pub(super) known_log: Arc<KnownLog>,
    methodology: Option<String>,
}

impl FileStore {
    /// Names the store of a run directory. Touches nothing.
    pub fn new(dir: RunDir, clock: Arc<dyn Clock>) -> Self {
        Self {
            dir,
            clock,
            lock_wait: LOCK_WAIT,
            last_read: Arc::default(),
            acknowledged: Arc::default(),
            written: Arc::default(),
            keeps_tasks: Arc::default(),
            kept: None,
            known_log: Arc::default(),
            methodology: None,
        }
    }

    /// Writes into the plan, with each change of it, that it is this methodology's.
    #[must_use]
    pub fn for_methodology(mut self, name: impl Into<String>) -> Self {
        self.methodology = Some(name.into());
        self
    }

    /// Names the methodology in a plan that is about to be written.
    pub(super) fn name_methodology(&self, plan: &mut Plan) {
        if self.methodology.is_some() {
            plan.project.methodology.clone_from(&self.methodology);
        }
    }

    /// Says whether somebody runs a loop on this plan.
    fn has_loop(&self) -> Result<bool, StateError> {
        let held = FileLoopLock::holder(&self.dir)?;
        Ok(held
            .is_some_and(|holder| holder.is_none_or(|holder| holder.works_for(self.methodology.as_deref()))))
    }

    /// Keeps the last plans outside of the work tree. By default none is kept.
    #[must_use]
    pub fn keeping_plans(mut self, kept: KeptPlans) -> Self {
        self.kept = Some(kept);
        self
    }

    /// Sets how long to wait for other writers; [`LOCK_WAIT`] by default.
    #[must_use]
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// Returns the directory.
    pub fn dir(&self) -> &RunDir {
        &self.dir
    }

    pub(super) fn lock(&self, doing: &str) -> Result<FileLock, StateError> {
        let holder = Holder::this_process(self.clock.now(), doing);
        FileLock::exclusive(self.dir.root(), &self.dir.lock(), &holder, self.lock_wait)
    }

    /// Takes the lock for reading the journal, so that a record whose plan is
    /// not yet in place is not seen.
    pub(super) fn lock_shared(&self) -> Result<Option<FileLock>, StateError> {
        FileLock::shared(self.dir.root(), &self.dir.lock(), self.lock_wait)
    }

    /// Names the work tree, as far as the system tells.
    pub(super) fn tree(&self) -> io::Result<WorkTreeId> {
        WorkTreeId::of(self.dir.root().path())
    }

    pub(super) fn journal(&self) -> JournalFile<'_> {
        JournalFile::new(&self.dir, ROTATE_BYTES)
    }

    pub(super) fn read_plan(&self) -> Result<PlanFile, StateError> {
        self.last_read.read(self.dir.root(), &self.dir.prd())
    }

    /// Completes a change that a crash cut short after it was journalled.
    pub(super) fn heal(&self, document: &mut Document, tail: &Tail) -> Result<(), StateError> {
        let Some(mutation) = cut_short(document, tail) else { return Ok(()) };
        // The plan may have been edited since; then the change may not apply
        // any more, and nobody was promised that it would.
        if document.apply_as(mutation, tail.at, tail.revision).is_ok() {
            document.plan_mut().revision = tail.revision;
            let text = plan_file::encode(document)?;
            files::write(self.dir.root(), &self.dir.prd(), text.as_bytes(), Durability::Synced)?;
        }
        Ok(())
    }

    /// Does the same for a plan that is not read yet, so that no record follows one
    /// of a change that does not happen. A plan that cannot be read is left alone.
    pub(super) fn heal_tail(&self) -> Result<(), StateError> {
        let Ok(tail) = self.journal().tail() else { return Ok(()) };
        if !matches!(tail.last, Some(JournalEntry::Mutation { .. })) {
            return Ok(());
        }
        let Ok(file) = self.read_plan() else { return Ok(()) };
        if cut_short(&file.document, &tail).is_none() {
            self.last_read.keep(file);
            return Ok(());
        }
        let PlanFile { mut document, .. } = file;
        self.heal(&mut document, &tail)
    }

    /// Stores a plan's text and the record of its change, in the order that the
    /// module describes.
    pub(super) fn commit(
        &self,
        text: &[Cow<'_, str>],
        revision: u64,
        tail: &Tail,
        now: Timestamp,
        entry: JournalEntry,
    ) -> Result<u64, StateError> {
        let (path, pieces) = (self.dir.prd(), text.iter().map(|piece| piece.as_bytes()));
        let staged = files::stage(self.dir.root(), &path, pieces.clone())?;
        let digest = Some(digest_of(pieces));
        let noted = Written::of(&entry);
        let appended = self.journal().append(tail, now, After { revision, digest }, entry, true)?;
        let seq = appended.seq;
        match staged.place() {
            Ok(placed) => {
                if let Some(entry) = noted {
                    self.written.note(seq, entry);
                }
                placed.sync().map_err(StateError::io("sync", path))?;
            }
            Err(error) => {
                appended.retract();
                return Err(StateError::io("replace", path)(error));
            }
        }
        Ok(seq)
    }

    /// Stores a plan in place of all that was there.
    pub(super) fn commit_whole(
        &self,
        document: &Document,
        backup: Option<&Path>,
        tail: &Tail,
        now: Timestamp,
        actor: Actor,
    ) -> Result<(), StateError> {
        let name = backup.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let entry = JournalEntry::Imported { actor, tasks: document.plan.tasks.len(), backup: name };
        let text = [Cow::Owned(plan_file::encode(document)?)];
        self.commit(&text, document.plan.revision, tail, now, entry)?;
        self.keep(text.iter().map(|text| &**text), Place::OfLast);
        Ok(())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Copies the plan that is there aside, also one that is corrupt.
    pub(super) fn back_up(&self, now: Timestamp) -> Result<PathBuf, StateError> {
        let (root, path) = (self.dir.root(), self.dir.prd());
        let content = files::read(root, &path)?.unwrap_or_default();
        let backup = root.back_up(&path, &content, now, &Manner::STATE);
        backup.map_err(StateError::file("back up", path))
    }

    /// Makes one change.
    fn change(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        asker.may(&mutation)?;
        if !self.exists()? {
            // Before the lock, whose file would be the directory's first.
            return Err(StateError::NotInitialised { path: self.dir.prd() });
        }
        let _lock = self.lock(mutation.name())?;
        let tail = self.journal().tail()?;
        let file = self.last_read.read_for(self.dir.root(), &self.dir.prd(), &mutation)?;
        let mut file = self.once_still(file)?;
        if cut_short(&file.document, &tail).is_some() {
            let PlanFile { mut document, diagnostics, .. } = self.read_plan()?;
            self.heal(&mut document, &tail)?;
            file = PlanFile { diagnostics, ..self.read_plan()? };
        }
        if made_at.is_some_and(|made_at| file.document.plan.project.created_at != Some(made_at)) {
            return Err(StateError::Replaced { path: self.dir.prd() });
        }
        let (now, base) = (self.clock.now(), file.document.plan.revision);
        let records = || self.journal().since(0);
        refuse_opening(&file.document.plan, &mutation, asker, records)?;
        let mutation = undo::resolve(mutation, asker, records)?;
        let is_kept = keeps(&mutation);
        let before = is_undoable(&mutation).then(|| Arc::clone(&file.document.plan));
        let revision = revision_after(base.max(tail.revision));
        let queued = UnlandedWork::before(&file.document.plan, &mutation);
        let change = file.document.apply_as(&mutation, now, revision)?;
        if change == TaskChange::Unchanged {
            let applied = Applied::new(&file.document.plan, &mutation, change);
            return Ok(Applied { diagnostics: file.diagnostics, ..applied });
        }
        file.document.plan_mut().revision = revision;
        self.name_methodology(file.document.plan_mut());
        let pieces = file.encode_changed(&change)?;
        let applied = Applied::new(&file.document.plan, &mutation, change.clone())
            .taking_out(queued, &file.document.plan);
        let replaced = before.and_then(|before| {
            Replaced::between(&before, &file.document.plan, |id| file.document.others_of(id)).map(Box::new)
        });
        let (actor, by) = (asker.actor, asker.name.clone());
        let entry = JournalEntry::Mutation { actor, base, mutation, change, by, replaced };
        let seq = self.commit(&pieces, revision, &tail, now, entry)?;
        if is_kept {
            self.keep(pieces.iter().map(|piece| &**piece), Place::OfLast);
        }
        let diagnostics = file.diagnostics.clone();
        if file.says_all() {
            let content = pieces.concat().into_bytes();
            file.document.forget_removed();
            self.last_read.keep(PlanFile { content, ..file });
        }
        Ok(Applied { seq: Some(seq), diagnostics, ..applied })
    }
}

impl PlanStore for FileStore {
    fn exists(&self) -> Result<bool, StateError> {
        let path = self.dir.prd();
        self.dir.root().has(&path).map_err(StateError::file("look for", path))
    }

    fn load(&self) -> Result<LoadedPlan, StateError> {
        self.last_read.loaded(self.dir.root(), &self.dir.prd())
    }

    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError> {
        self.dir.check()?;
        self.dir.create()?;
        let _lock = self.lock("import")?;
        let exists = self.exists()?;
        if exists && existing == Existing::Refuse {
            return Err(StateError::Exists { path: self.dir.prd() });
        }
        let (now, tail) = (self.clock.now(), self.journal().tail()?);
        let before = self.read_plan().ok();
        let there = before.as_ref().map_or(0, |file| file.document.plan.revision);
        let revision = revision_after(there.max(tail.revision));
        let mut plan = import::prepare(plan, revision, now)?;
        self.name_methodology(&mut plan);
        let kept = self.keep_present();
        let backup = if exists && kept.is_none() { Some(self.back_up(now)?) } else { None };
        let kept = kept.filter(|_| before.is_some_and(|file| !file.document.plan.tasks.is_empty()));
        if tail.seq == 0 {
            // Whoever stores a new plan where there is no journal begins anew.
            self.forget_checkpoint();
        }
        self.commit_whole(&Document::new(plan), backup.as_deref(), &tail, now, actor)?;
        Ok(Imported { revision, backup, kept })
    }

    fn mutate_as(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        match self.change(made_at, mutation.clone(), asker) {
            // A loop that was killed has left its discovery under way.
            Err(StateError::DiscoveryFull { .. }) if !self.has_loop()? => {
                let stopped = Mutation::SetProgressStatus { status: ProgressStatus::Stopped };
                self.change(made_at, stopped, &Asker::from(Actor::Runtime))?;
                self.change(made_at, mutation, asker)
            }
            Err(error @ StateError::DiscoveryFull { .. }) => {
                refused::note(self, &mutation, self.clock.now());
                Err(error)
            }
            changed => changed,
        }
    }

    fn journal_since(&self, seq: u64) -> Result<JournalPart, StateError> {
        let _lock = self.lock_shared()?;
        Ok(part_after(seq, self.journal().since(seq)?))
    }

    fn catch_up(&self, seq: u64) -> Result<CaughtUp, StateError> {
        let mut caught = self.caught_up(seq)?;
        // Where it cannot begin anew now, the next line of it tries again.
        caught.warnings.extend(self.lost_log().unwrap_or_default());
        Ok(caught)
    }

    fn wrote(&self, record: &JournalRecord) -> bool {
        self.written.has(record)
    }

    fn keeps_tasks(&self, keeps: bool) {
        self.set_keeps_tasks(keeps);
    }

    fn last_written(&self) -> Result<LastWritten, StateError> {
        let _lock = self.lock_shared()?;
        let tail = self.journal().tail()?;
        if tail.seq == 0 {
            return Ok(LastWritten::Unknown);
        }
        let content = files::read(self.dir.root(), &self.dir.prd())?.unwrap_or_default();
        // Earlier versions did not write it down.
        let is_same = tail.digest.is_none_or(|digest| digest == digest_of([&content[..]]));
        Ok(if is_same { LastWritten::Same } else { LastWritten::Other })
    }

    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError> {
        let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        if lines.is_empty() {
            return Ok(());
        }
        self.log_lines(&lines)
    }

    fn progress(&self) -> Result<ProgressLog, StateError> {
        let path = self.dir.progress();
        let (content, cut) = read_end(self.dir.root(), &path).map_err(StateError::file("read", path))?;
        let text = String::from_utf8_lossy(&content);
        let text = if cut { text.split_once('\n').map_or("", |(_, whole)| whole) } else { &text };
        Ok(ProgressLog { cut, ..ProgressLog::parse(text) })
    }

    fn rotate_progress(&self, max_lines: usize) -> Result<usize, StateError> {
        let path = self.dir.progress();
        if !self.dir.root().has(&path).map_err(StateError::file("look for", &path))? {
            return Ok(0);
        }
        let _lock = self.lock("rotate_progress")?;
        let content = files::read(self.dir.root(), &path)?.unwrap_or_default();
        let Some(rotation) = split_for_rotation(&content, max_lines) else { return Ok(0) };
        let text = |lines: &[&[u8]]| {
            lines.iter().flat_map(|line| [line, b"\n".as_slice()]).collect::<Vec<_>>().concat()
        };
        // A crash after this line leaves lines in both files, none in neither.
        let archive = append(self.dir.root(), &self.dir.progress_archive(), &text(&rotation.archive))?;
        archive.sync_all().map_err(StateError::io("sync", self.dir.progress_archive()))?;
        files::write(self.dir.root(), &path, &text(&rotation.keep), Durability::Synced)?;
        Ok(rotation.archive.len())
    }

    fn watch(&self) -> Watch {
        watched_files::watch(&self.dir)
    }
}

impl FileStore {
    /// Adds whole lines to the progress log, which begins anew where it is gone.
    pub(super) fn log_lines(&self, lines: &str) -> Result<(), StateError> {
        self.dir.create()?;
        let _lock = self.lock("progress")?;
        let lines = self.first_line()? + lines;
        append(self.dir.root(), &self.dir.progress(), lines.as_bytes())?;
        self.known_log.know();
        Ok(())
    }
}

/// Takes records for those after a number. They are numbered one by one: whoever writes
/// enough of them makes the journal rotate until it holds the earlier ones no more.
pub(super) fn part_after(seq: u64, records: Vec<JournalRecord>) -> JournalPart {
    let has_gap = records.first().is_some_and(|first| first.seq > seq.saturating_add(1));
    JournalPart { records, has_gap }
}

/// Says whether the plan is kept after a change: where it has other tasks, and
/// where an iteration has ended, since by then much may be otherwise.
fn keeps(mutation: &Mutation) -> bool {
    let adds_or_ends = matches!(
        mutation,
        Mutation::Enqueue { .. }
            | Mutation::Add { .. }
            | Mutation::CommitIteration { .. }
            | Mutation::Land { .. }
    );
    let is_heard = matches!(mutation, Mutation::Heard { .. } | Mutation::Mark { .. });
    adds_or_ends || !(mutation.is_for_agents() || mutation.is_of_claims() || is_heard)
}

/// Returns the SHA-256 of a text in pieces, in hexadecimal digits.
pub(super) fn digest_of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    pieces.into_iter().for_each(|piece| hash.update(piece));
    hex(&hash.finalize())
}

/// Returns the change that a crash cut short after it was journalled.
pub(super) fn cut_short<'a>(document: &Document, tail: &'a Tail) -> Option<&'a Mutation> {
    let Some(JournalEntry::Mutation { base, mutation, .. }) = &tail.last else { return None };
    (*base == document.plan.revision && tail.revision > *base).then_some(mutation)
}

/// Appends lines, on a line of their own if somebody left one open.
pub(super) fn append(root: &Root, path: &Path, lines: &[u8]) -> Result<File, StateError> {
    let write = || {
        let mut file = root.open_own(path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        let mut last = [b'\n'];
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let break_line: &[u8] = if last == [b'\n'] { b"" } else { b"\n" };
        file.write_all(&[break_line, lines].concat())?;
        Ok(file)
    };
    write().map_err(StateError::file("append to", path))
}

/// Reads the end of a log; says whether there is more before.
pub(super) fn read_end(root: &Root, path: &Path) -> Result<(Vec<u8>, bool), FileError> {
    let Some(mut file) = found(root.open(path))? else { return Ok((Vec::new(), false)) };
    let length = file.metadata()?.len();
    let start = length.saturating_sub(MAX_LOG_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut content = Vec::new();
    file.take(MAX_LOG_BYTES).read_to_end(&mut content)?;
    Ok((content, start > 0))
}
