//! The plan that a log comes to.
//!
//! A [`LogFold`] takes one record after the other and decides what each does. It is pure: the same records,
//! wherever and however often they are stored, come to the same plan. Of the time it knows what records say.

use std::{path::PathBuf, sync::Arc};

use jiff::Timestamp;

use super::{
    ImportPart, LOG_FORMAT, LogContent, LogError, LogRecord, VoidReason,
    import::{Joined, PendingImports},
    journal::FoldedJournal,
    record::{Decoded, decode, decode_content, reason},
    writers::Writers,
};
use crate::{
    Applied, Asker, Imported, JournalEntry, JournalPart, JournalRecord, Mutation, ProgressLog, StateError,
    change::{Asked, change},
    import as whole,
    progress::{MAX_LOG_BYTES, split_for_rotation},
};
use samuel_model::{Plan, digest_of};

/// How many lines of a progress log stay that has become too large.
const LINES_OF_A_LARGE_LOG: usize = 2_000;

/// The plan of a log, as far as it was read.
#[derive(Clone, Debug)]
pub struct LogFold {
    name: String,
    plan: Option<Arc<Plan>>,
    writers: Writers,
    imports: PendingImports,
    journal: FoldedJournal,
    progress: String,
    #[cfg(any(test, feature = "testing"))]
    rule: FoldRule,
}

/// The rule that a fold leaves out. Tests use it to prove that their checks notice a broken fold.
#[cfg(any(test, feature = "testing"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FoldRule {
    /// None is left out.
    #[default]
    All,
    /// The token of a claim is not compared.
    NoToken,
    /// A record that is there already has an outcome of its own.
    RepeatedTells,
}

/// What a record of a log came to.
#[derive(Debug)]
pub enum ReadRecord {
    /// It is the first copy with its number.
    Counted {
        /// Who wrote it.
        writer: String,
        /// Its number among the writer's.
        n: u64,
        /// What came of it; an error where the plan was not as it takes.
        outcome: Result<LogOutcome, StateError>,
    },
    /// It is another copy, or comes after a later one of its writer: it changes nothing.
    Repeated {
        /// Who wrote it.
        writer: String,
        /// Its number among the writer's.
        n: u64,
    },
    /// It changes nothing, whatever the plan is.
    Void {
        /// Who wrote it, where it says so.
        writer: Option<String>,
        /// Its number among the writer's, where it counts as one of theirs.
        n: Option<u64>,
        /// Why.
        why: VoidReason,
    },
}

/// What a record did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LogOutcome {
    /// The plan was changed, or was so already.
    Applied(Box<Applied>),
    /// It was the last part of a whole plan, which was stored.
    Imported(Imported),
    /// It is a part of a plan, and others follow.
    Part,
    /// The progress log has its lines.
    Progress,
    /// So many lines of the progress log went.
    Rotated(usize),
}

impl LogFold {
    /// Makes the fold of a log without records, of a plan of this name.
    pub fn new(plan: impl Into<String>) -> Self {
        Self {
            name: plan.into(),
            plan: None,
            writers: Writers::default(),
            imports: PendingImports::default(),
            journal: FoldedJournal::default(),
            progress: String::new(),
            #[cfg(any(test, feature = "testing"))]
            rule: FoldRule::All,
        }
    }

    /// Returns the fold without a rule.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    pub fn with_rule(self, rule: FoldRule) -> Self {
        Self { rule, ..self }
    }

    /// Makes the fold of no records, under the same rules.
    pub(super) fn anew(&self) -> Self {
        let fold = Self::new(self.name.clone());
        #[cfg(any(test, feature = "testing"))]
        let fold = fold.with_rule(self.rule);
        fold
    }

    /// Returns the plan, where there is one.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.as_ref()
    }

    /// Returns the newest entry of the journal, or `None` if no record has changed the plan.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    pub fn last_entry(&self) -> Option<JournalEntry> {
        self.journal.last().map(|record| record.entry.clone())
    }

    /// Returns the digest of all that the records came to, `sha256:` and 64 hexadecimal digits.
    pub fn digest(&self) -> String {
        let text =
            serde_json::to_vec(&(&self.plan, self.writers.numbers(), &self.progress)).unwrap_or_default();
        digest_of(&text)
    }

    /// Returns the last number of a writer, 0 where it wrote nothing.
    pub fn last_of(&self, writer: &str) -> u64 {
        self.writers.last_of(writer)
    }

    /// Returns what records after a number came to.
    pub(super) fn journal_since(&self, seq: u64) -> JournalPart {
        self.journal.since(seq)
    }

    /// Returns the progress log.
    pub(super) fn progress(&self) -> ProgressLog {
        ProgressLog::parse(&self.progress)
    }

    /// Returns the error of somebody who needs a plan where there is none.
    pub(super) fn no_plan(&self) -> StateError {
        StateError::NotInitialised { path: self.path() }
    }

    /// Returns the error of somebody who must not find a plan where there is one.
    pub(super) fn has_plan(&self) -> StateError {
        StateError::Exists { path: self.path() }
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(&self.name)
    }

    /// Takes the next record of the log, which has this number there.
    ///
    /// # Errors
    /// Returns [`LogError::Format`] for a record of a newer format: neither it nor what follows can be folded.
    pub fn fold(&mut self, number: u64, bytes: &[u8]) -> Result<ReadRecord, LogError> {
        let (numbered, text) = match decode(bytes, &self.name) {
            Decoded::Newer { format } => {
                return Err(newer(&self.name, number, format));
            }
            Decoded::Void(void) => {
                return Ok(ReadRecord::Void { writer: void.writer, n: None, why: void.why });
            }
            Decoded::Numbered { numbered, text } => (numbered, text),
        };
        let (writer, n) = (numbered.writer, numbered.n);
        let Some(seq) = self.writers.count(&writer, n) else {
            #[cfg(any(test, feature = "testing"))]
            if self.rule == FoldRule::RepeatedTells
                && let Ok(record) = decode_content(text)
            {
                let outcome = self.clone().outcome(number, record);
                return Ok(ReadRecord::Counted {
                    writer,
                    n,
                    outcome: outcome.unwrap_or(Ok(LogOutcome::Part)),
                });
            }
            return Ok(ReadRecord::Repeated { writer, n });
        };
        let outcome = decode_content(text).and_then(|record| self.outcome(seq, record));
        Ok(match outcome {
            Ok(outcome) => ReadRecord::Counted { writer, n, outcome },
            Err(why) => {
                self.imports.forget(&writer);
                ReadRecord::Void { writer: Some(writer), n: Some(n), why }
            }
        })
    }

    fn outcome(&mut self, seq: u64, record: LogRecord) -> Result<Result<LogOutcome, StateError>, VoidReason> {
        let (asker, place) = (record.asker(), Place { seq, at: record.at });
        if !matches!(record.content, LogContent::Import(_)) {
            self.imports.forget(&record.writer);
        }
        Ok(match record.content {
            LogContent::Mutation(mutation) => {
                let applied = self.change(place, record.made_at, mutation, &asker);
                applied.map(|applied| LogOutcome::Applied(Box::new(applied)))
            }
            LogContent::Import(part) => {
                return self.import(place, &record.writer, part, &asker);
            }
            LogContent::Progress(lines) => {
                for line in lines {
                    self.progress.push_str(&line);
                    self.progress.push('\n');
                }
                if self.progress.len() as u64 > MAX_LOG_BYTES {
                    self.rotate(LINES_OF_A_LARGE_LOG);
                    self.cut_progress();
                }
                Ok(LogOutcome::Progress)
            }
            LogContent::RotateProgress(max_lines) => Ok(LogOutcome::Rotated(self.rotate(max_lines))),
        })
    }

    /// Changes the plan as every store does.
    fn change(
        &mut self,
        at: Place,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        asker.may(&mutation)?;
        let (name, no_plan) = (self.path(), self.no_plan());
        let plan = self.plan.as_mut().ok_or(no_plan)?;
        #[cfg(any(test, feature = "testing"))]
        let mutation = self.rule.of(plan, mutation);
        let journal = &self.journal;
        let asked = Asked { made_at, mutation, asker, at: at.at };
        let (applied, entry) = change(plan, &name, asked, || journal.all())?;
        let Some(entry) = entry else { return Ok(applied) };
        self.tell(at, applied.revision, entry);
        Ok(Applied { seq: Some(at.seq), ..applied })
    }

    /// Takes a part of a whole plan, and the plan with the last one.
    fn import(
        &mut self,
        at: Place,
        writer: &str,
        part: ImportPart,
        asker: &Asker,
    ) -> Result<Result<LogOutcome, StateError>, VoidReason> {
        let replace = part.replace;
        let text = match self.imports.join(writer, part) {
            Joined::Waits => return Ok(Ok(LogOutcome::Part)),
            Joined::Void => return Err(VoidReason::ImportPart),
            Joined::Whole(text) => text,
        };
        let plan: Plan = serde_json::from_str(&text)
            .map_err(|error| VoidReason::UnknownChange { reason: reason(&error) })?;
        if self.plan.is_some() && !replace {
            return Ok(Err(self.has_plan()));
        }
        let revision = self.plan.as_ref().map_or(0, |plan| plan.revision) + 1;
        let plan = match whole::prepare(plan, revision, at.at) {
            Ok(plan) => plan,
            Err(error) => return Ok(Err(error)),
        };
        let (actor, tasks) = (asker.actor, plan.tasks.len());
        self.plan = Some(Arc::new(plan));
        self.tell(at, revision, JournalEntry::Imported { actor, tasks, backup: None });
        Ok(Ok(LogOutcome::Imported(Imported { revision, backup: None, kept: None })))
    }

    fn tell(&mut self, at: Place, revision: u64, entry: JournalEntry) {
        self.journal.push(JournalRecord { seq: at.seq, at: at.at, revision, digest: None, entry });
    }

    /// Cuts the progress log, and returns how many lines went. The log of records has them.
    fn rotate(&mut self, max_lines: usize) -> usize {
        let content = std::mem::take(&mut self.progress);
        let Some(rotation) = split_for_rotation(content.as_bytes(), max_lines) else {
            self.progress = content;
            return 0;
        };
        let lines = rotation.keep.iter().map(|line| format!("{}\n", String::from_utf8_lossy(line)));
        self.progress = lines.collect();
        rotation.archive.len()
    }

    /// Cuts a progress log that is too large although it was rotated, to the lines at its end.
    fn cut_progress(&mut self) {
        let most = usize::try_from(MAX_LOG_BYTES).unwrap_or(usize::MAX);
        let Some(over) = self.progress.len().checked_sub(most).filter(|over| *over > 0) else { return };
        // A line that begins just there stays.
        let rest = self.progress.as_bytes().get(over - 1..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).map_or(self.progress.len(), |end| over + end);
        self.progress.drain(..end);
    }
}

/// A record's place among those that count.
#[derive(Clone, Copy)]
struct Place {
    /// Which of them it is, which is the same in every log that has them.
    seq: u64,
    at: Timestamp,
}

/// Returns the error about a record of a format that is not known.
pub(super) fn newer(plan: &str, number: u64, format: u32) -> LogError {
    LogError::Format { plan: plan.to_owned(), number, format, known: LOG_FORMAT }
}

#[cfg(any(test, feature = "testing"))]
impl FoldRule {
    /// Has a change name the tokens that are there, where they are not compared.
    fn of(self, plan: &Plan, mutation: Mutation) -> Mutation {
        use samuel_model::ClaimTarget;
        let now = |of: &ClaimTarget, token: u64| plan.claim(of).map_or(token, |claim| claim.token);
        match (self, mutation) {
            (Self::NoToken, Mutation::Submit { task, token, branch, commit, base, tree, iteration }) => {
                let token = now(&task.clone().into(), token);
                Mutation::Submit { task, token, branch, commit, base, tree, iteration }
            }
            (Self::NoToken, Mutation::Release { task, token, reason, kept }) => {
                let token = now(&task, token);
                Mutation::Release { task, token, reason, kept }
            }
            (_, mutation) => mutation,
        }
    }
}
