//! Who decides whether what a repository brings may run.

use std::{fmt, path::Path, sync::Arc};

use jiff::Timestamp;

use super::{Difference, Executables, RefusalReason, TrustRefusal, TrustStore, TrustStoreError};

/// A closure that decides, knowing how it differs from what was trusted before.
type Decide = Arc<dyn Fn(&Executables, Option<&Difference>) -> bool + Send + Sync>;

/// Who decides whether what a repository brings may run.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum TrustPolicy {
    /// Nothing of it may run; the default.
    #[default]
    Refuse,
    /// All of it may run: the caller knows the repository. What the last run left
    /// changed is not covered, since an agent may have changed it.
    TrustAll,
    /// What has this [digest](Executables::digest) may run, which covers what the
    /// last run left changed.
    Digest(String),
    /// A closure decides, also on what the last run left changed. It may block, for
    /// instance to ask a user.
    Ask(Decide),
    /// What was trusted before may run; of anything else another policy decides.
    Recorded(RecordedTrust),
}

/// What was trusted before, and who decides of anything else.
#[derive(Clone, Debug)]
pub struct RecordedTrust {
    store: TrustStore,
    otherwise: Box<TrustPolicy>,
    /// Whether it is recorded what whoever is asked allows.
    is_recording: bool,
}

impl TrustPolicy {
    /// Creates a policy that asks a closure. It is given what would execute and, where
    /// something was [recorded](Self::recorded) before, how that differs from it.
    pub fn ask(decide: impl Fn(&Executables, Option<&Difference>) -> bool + Send + Sync + 'static) -> Self {
        Self::Ask(Arc::new(decide))
    }

    /// Creates a policy that allows what was trusted before, and nothing else.
    pub fn recorded(store: TrustStore) -> Self {
        Self::recorded_or(store, Self::Refuse)
    }

    /// Creates a policy that allows what was trusted before, and has another decide of
    /// anything else, for this once. One record is looked at: of another recorded policy
    /// only what stands behind its record decides.
    pub fn recorded_or(store: TrustStore, otherwise: Self) -> Self {
        Self::with_record(store, otherwise, false)
    }

    /// Creates a policy as [`recorded_or`](Self::recorded_or) does, which records what
    /// somebody who is asked allows, in the place of what was trusted before.
    pub fn recording(store: TrustStore, otherwise: Self) -> Self {
        Self::with_record(store, otherwise, true)
    }

    fn with_record(store: TrustStore, otherwise: Self, is_recording: bool) -> Self {
        let otherwise = Box::new(otherwise.unrecorded());
        Self::Recorded(RecordedTrust { store, otherwise, is_recording })
    }

    /// Says whether somebody is asked.
    fn asks(&self) -> bool {
        match self {
            Self::Ask(_) => true,
            Self::Recorded(recorded) => recorded.otherwise.asks(),
            Self::Refuse | Self::TrustAll | Self::Digest(_) => false,
        }
    }

    /// Returns the policy without anybody who is asked, for whoever only looks: what would
    /// be asked about is refused, and nothing is recorded.
    #[must_use]
    pub fn unasked(&self) -> Self {
        match self {
            Self::Ask(_) => Self::Refuse,
            Self::Recorded(recorded) => {
                Self::recorded_or(recorded.store.clone(), recorded.otherwise.unasked())
            }
            policy => policy.clone(),
        }
    }

    /// Decides whether what the project at `root` would execute may run. Blocks as long
    /// as whoever is asked takes. `now` is the time that is recorded.
    ///
    /// # Errors
    /// Returns a [`TrustRefusal`] where it may not, or where what was trusted cannot be read
    /// or kept.
    pub fn decide(
        &self,
        root: &Path,
        executables: &Executables,
        now: Timestamp,
    ) -> Result<(), Box<TrustRefusal>> {
        match self {
            Self::Recorded(recorded) => recorded.decide(root, executables, now),
            policy => policy.decide_alone(executables, None, RefusalReason::Untrusted),
        }
    }

    /// Refuses where something of what was trusted is gone; what executes now is the program's own.
    ///
    /// # Errors
    /// Returns a [`TrustRefusal`] as [`decide`](Self::decide) does.
    #[doc(hidden)]
    pub fn decide_on_gone(
        &self,
        root: &Path,
        executables: &Executables,
        now: Timestamp,
    ) -> Result<(), Box<TrustRefusal>> {
        let Self::Recorded(RecordedTrust { store, .. }) = self else { return Ok(()) };
        match store.recorded(root) {
            Err(TrustStoreError::Inside { .. }) | Ok(None) => Ok(()),
            Ok(Some(record)) if executables.against(&record.entries).gone.is_empty() => Ok(()),
            Ok(Some(_)) | Err(_) => self.decide(root, executables, now),
        }
    }

    /// Returns the policy without a record in front of it.
    fn unrecorded(self) -> Self {
        match self {
            Self::Recorded(recorded) => *recorded.otherwise,
            policy => policy,
        }
    }

    /// Decides without a record, knowing how what would execute differs from one.
    fn decide_alone(
        &self,
        executables: &Executables,
        difference: Option<&Difference>,
        untrusted: RefusalReason,
    ) -> Result<(), Box<TrustRefusal>> {
        let reason = match self {
            Self::Refuse | Self::TrustAll if !executables.changes.is_empty() => RefusalReason::Unaccepted,
            Self::Refuse | Self::Recorded(_) => untrusted,
            Self::TrustAll => return Ok(()),
            Self::Digest(trusted) if *trusted == executables.digest() => return Ok(()),
            Self::Digest(_) => RefusalReason::OtherDigest,
            Self::Ask(decide) if decide(executables, difference) => return Ok(()),
            Self::Ask(_) => RefusalReason::Declined,
        };
        Err(refusal(reason, executables, difference))
    }
}

impl RecordedTrust {
    fn decide(
        &self,
        root: &Path,
        executables: &Executables,
        now: Timestamp,
    ) -> Result<(), Box<TrustRefusal>> {
        let unusable = |error| refusal(RefusalReason::Unreadable(error), executables, None);
        let record = match self.store.recorded(root) {
            // Of a project around the store nothing can be recorded; whoever is asked decides.
            Err(TrustStoreError::Inside { .. }) => None,
            record => record.map_err(unusable)?,
        };
        let difference = record.as_ref().map(|record| executables.against(&record.entries));
        if executables.changes.is_empty()
            && difference.as_ref().is_some_and(|found| executables.is_allowed_by(found))
        {
            return Ok(());
        }
        let reason = match &record {
            Some(record) => RefusalReason::Changed { trusted_at: record.trusted_at },
            None => RefusalReason::Untrusted,
        };
        self.otherwise.decide_alone(executables, difference.as_ref(), reason)?;
        if self.is_recording && self.otherwise.asks() && executables.is_whole() {
            let kept = self.store.record(root, executables, now);
            kept.map_err(|error| refusal(RefusalReason::NotKept(error), executables, difference.as_ref()))?;
        }
        Ok(())
    }
}

fn refusal(
    reason: RefusalReason,
    executables: &Executables,
    difference: Option<&Difference>,
) -> Box<TrustRefusal> {
    Box::new(TrustRefusal { reason, executables: executables.clone(), difference: difference.cloned() })
}

impl fmt::Debug for TrustPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refuse => f.write_str("Refuse"),
            Self::TrustAll => f.write_str("TrustAll"),
            Self::Digest(_) => f.write_str("Digest"),
            Self::Ask(_) => f.write_str("Ask"),
            Self::Recorded(recorded) => f.debug_tuple("Recorded").field(recorded).finish(),
        }
    }
}
