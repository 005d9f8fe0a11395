//! What was trusted, kept outside of every repository.

use std::{
    io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use samuel_fs::{Manner, Root, private};
use samuel_model::{Coded, ErrorCode, Remedy, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::{Executable, Executables};

/// How a record is written, which grows with every change that an earlier version
/// cannot read.
const VERSION: u32 = 1;

/// How long a record may be, in bytes.
const MAX_RECORD_BYTES: u64 = 16 << 20;

/// What was trusted, a record for each project.
///
/// The directory is this user's alone (mode 0700) and outside of the projects that it
/// is about; a project is known by its canonical root. Where any of that does not hold,
/// or a record cannot be read, nothing is trusted.
#[derive(Clone, Debug)]
pub struct TrustStore {
    dir: PathBuf,
}

/// What was trusted of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// The version of the format, 1.
    pub version: u32,
    /// The project's canonical root, as it is shown.
    pub root: String,
    /// When it was trusted.
    pub trusted_at: Timestamp,
    /// What was trusted to execute.
    pub entries: Vec<Executable>,
}

/// Why what was trusted cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrustStoreError {
    /// The directory or a record cannot be used.
    #[error("cannot use {}", path.display())]
    Io {
        /// Which of them.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The project's root cannot be found out.
    #[error("cannot find the project {}", root.display())]
    Root {
        /// The root as it was given.
        root: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Whoever may change the project could change what was trusted of it.
    #[error("{} lies in the project {} that it would keep trust of", dir.display(), root.display())]
    Inside {
        /// The directory.
        dir: PathBuf,
        /// The project's root.
        root: PathBuf,
    },
    /// A record is damaged, or of another version.
    #[error("{} is no record of what was trusted: {problem}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Coded for TrustStoreError {
    fn code(&self) -> ErrorCode {
        ErrorCode::TRUST_REFUSED
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => Remedy::Say(
                "Make it this user's alone: a directory with mode 0700, its files with mode 0600.",
            ),
            Self::Io { .. } => {
                Remedy::Say("Check that the directory can be written to and the disk has room.")
            }
            Self::Root { .. } => Remedy::Say("Check that the project's directory exists."),
            Self::Inside { .. } => Remedy::Say("Name a directory outside of the project."),
            Self::Record { .. } => Remedy::RevokeTrust,
        }
    }
}

impl TrustStore {
    /// Opens a directory, which is made with those above it where it is missing.
    ///
    /// # Errors
    /// Returns [`TrustStoreError::Io`] where it cannot be made, or others could write to
    /// it.
    pub fn open(dir: &Path) -> Result<Self, TrustStoreError> {
        let unusable = |source| TrustStoreError::Io { path: dir.to_owned(), source };
        private::require(dir).map_err(unusable)?;
        Ok(Self { dir: dir.canonicalize().map_err(unusable)? })
    }

    /// Returns what was trusted of a project; nothing where nothing was.
    ///
    /// # Errors
    /// Returns a [`TrustStoreError`] where that cannot be read, or could have been
    /// written by others.
    pub fn recorded(&self, root: &Path) -> Result<Option<TrustRecord>, TrustStoreError> {
        let (path, root) = self.place(root)?;
        let read = private::read(&path, MAX_RECORD_BYTES);
        let Some(bytes) = read.map_err(|source| TrustStoreError::Io { path: path.clone(), source })? else {
            return Ok(None);
        };
        let damaged = |problem: String| TrustStoreError::Record { path: path.clone(), problem };
        let record: TrustRecord =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if record.version != VERSION {
            return Err(damaged(format!("its version is {}, and {VERSION} is known", record.version)));
        }
        if record.root != root {
            return Err(damaged(format!("it is of the project {:?}", record.root)));
        }
        Ok(Some(record))
    }

    /// Keeps that what a project would execute is trusted, in the place of what was.
    ///
    /// # Errors
    /// Returns a [`TrustStoreError`] where that cannot be written.
    pub fn record(
        &self,
        root: &Path,
        executables: &Executables,
        now: Timestamp,
    ) -> Result<(), TrustStoreError> {
        let (path, root) = self.place(root)?;
        // The permissions of one that others could have written to do not stay.
        if private::read(&path, MAX_RECORD_BYTES).is_err() {
            let removed = std::fs::remove_file(&path);
            removed.map_err(|source| TrustStoreError::Io { path: path.clone(), source })?;
        }
        let record =
            TrustRecord { version: VERSION, root, trusted_at: now, entries: executables.entries.clone() };
        // Texts, lists and records alone, so that this cannot fail.
        let written = serde_json::to_vec_pretty(&record).unwrap_or_default();
        let kept = Root::new(&self.dir).write(&path, [&written[..]], &Manner::PRIVATE);
        kept.map_err(|error| TrustStoreError::Io { path, source: error.into() })
    }

    /// Forgets what was trusted of a project, and says whether anything was. A record
    /// that cannot be read is removed too.
    ///
    /// # Errors
    /// Returns a [`TrustStoreError`] where it cannot be removed.
    pub fn revoke(&self, root: &Path) -> Result<bool, TrustStoreError> {
        let (path, _) = self.place(root)?;
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(TrustStoreError::Io { path, source }),
        }
    }

    /// Returns where the record of a project lies, and the root as it is shown.
    fn place(&self, root: &Path) -> Result<(PathBuf, String), TrustStoreError> {
        let canonical = root.canonicalize();
        let canonical =
            canonical.map_err(|source| TrustStoreError::Root { root: root.to_owned(), source })?;
        if self.dir.starts_with(&canonical) {
            return Err(TrustStoreError::Inside { dir: self.dir.clone(), root: canonical });
        }
        let key = hex(&Sha256::digest(canonical.as_os_str().as_encoded_bytes()));
        Ok((self.dir.join(format!("{key}.json")), canonical.display().to_string()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a failed set-up fails the test")]

    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;
    use crate::trust::{ExecutableKind, RefusalReason, TrustPolicy, TrustRefusal};
    use samuel_hook::HookPoint;

    struct Bench {
        dir: tempfile::TempDir,
        root: PathBuf,
        store: TrustStore,
    }

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join("project");
            fs::create_dir(&root).unwrap();
            let store = TrustStore::open(&dir.path().join("state/trust")).unwrap();
            Self { dir, root, store }
        }

        fn file(&self) -> PathBuf {
            self.store.place(&self.root).unwrap().0
        }

        fn decide(&self, policy: &TrustPolicy, executables: &Executables) -> Result<(), Box<TrustRefusal>> {
            policy.decide(&self.root, executables, Timestamp::UNIX_EPOCH)
        }

        fn recorded(&self) -> TrustPolicy {
            TrustPolicy::recorded(self.store.clone())
        }
    }

    fn executables(commands: &[&str]) -> Executables {
        let check = |(number, command): (usize, &&str)| Executable {
            command: Some((*command).to_owned()),
            ..Executable::new(ExecutableKind::QualityCheck, number.to_string())
        };
        Executables::of(commands.iter().enumerate().map(check).collect())
    }

    #[test]
    fn what_was_trusted_may_run_and_anything_else_is_refused_with_the_difference() {
        let bench = Bench::new();
        let (policy, trusted) = (bench.recorded(), executables(&["true", "make"]));
        let refused = bench.decide(&policy, &trusted).unwrap_err();
        assert!(matches!(refused.reason, RefusalReason::Untrusted) && refused.difference.is_none());
        bench.store.record(&bench.root, &trusted, Timestamp::UNIX_EPOCH).unwrap();
        bench.decide(&policy, &trusted).unwrap();
        for other in [&["true"][..], &["true", "make", "ls"], &["true", "make x"]] {
            let refused = bench.decide(&policy, &executables(other)).unwrap_err();
            assert!(matches!(refused.reason, RefusalReason::Changed { .. }), "{other:?}");
            assert!(refused.to_string().contains("trusted on 1970-01-01T00:00:00Z: 1 "), "{refused}");
        }
        assert!(bench.store.revoke(&bench.root).unwrap() && !bench.store.revoke(&bench.root).unwrap());
        bench.decide(&policy, &trusted).unwrap_err();
    }

    #[test]
    fn a_part_of_what_was_trusted_may_run_too() {
        let bench = Bench::new();
        bench.store.record(&bench.root, &executables(&["true", "make"]), Timestamp::UNIX_EPOCH).unwrap();
        bench.decide(&bench.recorded(), &executables(&["true"]).into_part()).unwrap();
        bench.decide(&bench.recorded(), &executables(&["ls"]).into_part()).unwrap_err();
    }

    #[test]
    fn of_what_runs_at_some_points_nothing_may_be_gone_whatever_else_a_run_executes() {
        let bench = Bench::new();
        let hook = |id: &str, point: HookPoint| Executable {
            place: Some(point.to_string()),
            ..Executable::new(ExecutableKind::HookCommand, id)
        };
        let (guard, other) =
            (hook("repo:guard", HookPoint::AbilityBefore), hook("c", HookPoint::IterationGate));
        let plugin = Executable::new(ExecutableKind::Plugin, "p");
        let of_plugin =
            Executable { kind: ExecutableKind::Handler, ..hook("p:log", HookPoint::AbilityBefore) };
        let points = [HookPoint::AbilityBefore, HookPoint::AbilityAfter];
        let part = |entries: &[&Executable]| {
            Executables::of(entries.iter().copied().cloned().collect()).of_all_at(&points)
        };
        let whole = [plugin.clone(), guard.clone(), of_plugin.clone(), other];
        let of_run = Executables::of([executables(&["make"]).entries, whole.to_vec()].concat());
        bench.store.record(&bench.root, &of_run, Timestamp::UNIX_EPOCH).unwrap();
        bench.decide(&bench.recorded(), &part(&[&plugin, &guard, &of_plugin])).unwrap();
        let refused = bench.decide(&bench.recorded(), &part(&[&plugin, &of_plugin])).unwrap_err();
        assert!(refused.to_string().ends_with(": 1 gone"), "{refused}");
        bench.decide(&bench.recorded(), &part(&[&guard])).unwrap_err();
        // Nothing that was brought is left, and nobody would be asked about that.
        let gone =
            |policy: TrustPolicy| policy.decide_on_gone(&bench.root, &part(&[]), Timestamp::UNIX_EPOCH);
        gone(bench.recorded()).unwrap_err();
        gone(TrustPolicy::Refuse).unwrap();
        bench.store.revoke(&bench.root).unwrap();
        gone(bench.recorded()).unwrap();
    }

    #[test]
    fn what_somebody_allows_is_recorded_and_a_part_is_not() {
        let bench = Bench::new();
        let answers =
            |yes: bool| TrustPolicy::recording(bench.store.clone(), TrustPolicy::ask(move |_, _| yes));
        let wanted = executables(&["true"]);
        assert!(matches!(
            bench.decide(&answers(false), &wanted).unwrap_err().reason,
            RefusalReason::Declined
        ));
        bench.decide(&answers(true), &wanted.clone().into_part()).unwrap();
        let once = TrustPolicy::recorded_or(bench.store.clone(), TrustPolicy::ask(|_, _| true));
        bench.decide(&once, &wanted).unwrap();
        assert_eq!(bench.store.recorded(&bench.root).unwrap(), None);
        bench.decide(&answers(true), &wanted).unwrap();
        bench.decide(&bench.recorded(), &wanted).unwrap();
        let seen = TrustPolicy::ask(|_, difference| difference.is_some_and(|found| found.new.len() == 1));
        bench
            .decide(&TrustPolicy::recorded_or(bench.store.clone(), seen), &executables(&["true", "b"]))
            .unwrap();
    }

    #[test]
    fn a_record_that_others_could_have_written_or_damaged_trusts_nothing() {
        let bench = Bench::new();
        let wanted = executables(&["true"]);
        let file = bench.file();
        let trust = || bench.store.record(&bench.root, &wanted, Timestamp::UNIX_EPOCH).unwrap();
        let refused = |words: &str| {
            let refused = bench.decide(&bench.recorded(), &wanted).unwrap_err();
            let RefusalReason::Unreadable(error) = refused.reason else { panic!("{words}: {refused}") };
            let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            assert!(format!("{error}: {source}").contains(words), "{error}: {source}");
        };
        trust();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        refused("is not this user's alone");
        trust();
        let text = fs::read_to_string(&file).unwrap();
        for (damaged, words) in [
            (String::new(), "EOF"),
            (text.replace("\"version\": 1", "\"version\": 2"), "version is 2"),
            (text.replace("/project", "/other"), "it is of the project"),
            (text.replace("quality_check", "quality_chock"), "unknown variant"),
        ] {
            fs::write(&file, damaged).unwrap();
            refused(words);
        }
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        refused("link");
        assert!(bench.store.revoke(&bench.root).unwrap());
    }

    #[test]
    fn the_directory_is_this_users_alone_and_outside_of_the_project() {
        let bench = Bench::new();
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(bench.dir.path().join("state/trust")), 0o700);
        bench.store.record(&bench.root, &executables(&[]), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(mode(bench.file()), 0o600);
        let inside = TrustStore::open(&bench.root.join("trust")).unwrap();
        assert!(matches!(inside.recorded(&bench.root), Err(TrustStoreError::Inside { .. })));
        let asking = TrustPolicy::recorded_or(inside.clone(), TrustPolicy::ask(|_, _| true));
        bench.decide(&asking, &executables(&["true"])).unwrap();
        let refused = bench.decide(&TrustPolicy::recorded(inside), &executables(&["true"])).unwrap_err();
        assert!(matches!(refused.reason, RefusalReason::Untrusted));
        let open = bench.dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(TrustStore::open(&open), Err(TrustStoreError::Io { .. })));
    }

    #[test]
    fn a_link_to_a_project_is_the_same_project_and_a_copy_is_another() {
        let bench = Bench::new();
        let link = bench.dir.path().join("link");
        std::os::unix::fs::symlink(&bench.root, &link).unwrap();
        bench.store.record(&link, &executables(&["true"]), Timestamp::UNIX_EPOCH).unwrap();
        assert!(bench.store.recorded(&bench.root).unwrap().is_some());
        let copy = bench.dir.path().join("copy");
        fs::create_dir(&copy).unwrap();
        assert_eq!(bench.store.recorded(&copy).unwrap(), None);
    }
}
