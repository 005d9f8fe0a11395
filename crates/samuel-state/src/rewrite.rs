//! Rewriting the files of earlier runs, such as to hide secrets in them.

use std::path::{Path, PathBuf};

use samuel_fs::{FileError, Manner, PathKind, Root, found};

use super::{Artifact, FileStore, RunDir, StateError, logs::below};

/// The largest file that is looked at, in bytes.
const MAX_BYTES: u64 = 512 << 20;
/// The directory of the logs of repository hooks, from the root of the project.
const HOOK_LOGS: &str = ".system/logs";
/// The beginning of the names of files with inputs.
const INPUTS: &str = "inputs";

/// Returns the new content of a file, or `None` if it stays.
type Change<'a> = dyn FnMut(&Path, &[u8]) -> Option<Vec<u8>> + 'a;

/// The files that [`FileStore::rewrite`] changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The files with other content, or that would have other content.
    pub files: Vec<PathBuf>,
    /// The files and directories that could not be read or written, with the reason.
    pub failures: Vec<String>,
}

impl FileStore {
    /// Passes the files of earlier runs to `change`, and replaces the content of a file with what `change` returns.
    /// These files are logs, records, context files, the progress log, the journal and the checkpoint that is kept
    /// outside of the work tree. The recorded inputs come last. With `writes` the lock for changes of the plan is
    /// held; the caller has to hold the loop's lock. Without it, nothing is written. Blocks.
    ///
    /// # Errors
    /// Fails if the lock cannot be taken, or a change that a crash cut short cannot be completed.
    pub fn rewrite(&self, writes: bool, change: &mut Change<'_>) -> Result<Rewritten, StateError> {
        let _lock = if writes { Some(self.lock("rewriting records")?) } else { None };
        if writes {
            self.heal_tail()?;
        }
        let mut rewritten = Rewritten::default();
        let mut files = files_of(self.dir(), &mut rewritten.failures);
        let kept = self.kept_checkpoint_path();
        files.extend(kept.and_then(|path| Some((Root::new(path.parent()?), path))));
        // A stable sort: they may hold what tells which values are secrets.
        files.sort_by_key(|(_, path)| is_of_inputs(path));
        for (root, path) in files {
            match rewrite_one(&root, &path, writes, change) {
                Ok(true) => rewritten.files.push(path),
                Ok(false) => {}
                Err(error) => rewritten.failures.push(format!("{}: {error}", path.display())),
            }
        }
        Ok(rewritten)
    }
}

/// Rewrites one file, and returns whether its content changes.
fn rewrite_one(root: &Root, path: &Path, writes: bool, change: &mut Change<'_>) -> Result<bool, FileError> {
    let Some(content) = found(root.read(path, MAX_BYTES))? else { return Ok(false) };
    let Some(changed) = change(path, &content) else { return Ok(false) };
    if writes {
        root.write(path, [changed.as_slice()], &Manner::STATE)?;
    }
    Ok(true)
}

/// Returns the files of earlier runs in a project.
fn files_of(dir: &RunDir, failures: &mut Vec<String>) -> Vec<(Root, PathBuf)> {
    let mut paths = vec![
        dir.progress(),
        dir.progress_archive(),
        dir.hook_log(),
        dir.old_hook_log(),
        dir.journal(),
        dir.old_journal(),
    ];
    paths.extend(Artifact::ALL.iter().map(|artifact| dir.artifact(*artifact)));
    for directory in [dir.all_logs(), dir.cache(), dir.root().path().join(HOOK_LOGS)] {
        let mut below_it = Vec::new();
        let looked = below(dir.root(), &directory, &mut |path, entry| {
            if entry.kind == PathKind::File {
                below_it.push(path.to_owned());
            }
            Ok(())
        });
        if let Err(error) = found(looked) {
            failures.push(format!("{}: {error}", directory.display()));
        }
        if directory == dir.cache() {
            // Of each worker.
            below_it.retain(|path| Artifact::ALL.iter().any(|artifact| path.ends_with(artifact.file_name())));
        }
        paths.append(&mut below_it);
    }
    paths.into_iter().map(|path| (dir.root().clone(), path)).collect()
}

fn is_of_inputs(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(INPUTS))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::{fs, sync::Arc};

    use samuel_model::clock::SystemClock;

    use super::*;

    #[test]
    fn rewrites_inputs_last_and_nothing_in_a_preview() {
        let project = tempfile::tempdir().unwrap();
        let dir = RunDir::new(project.path());
        dir.create().unwrap();
        let logs = dir.logs("20261129T100000Z-0a1b2c3d");
        fs::create_dir_all(&logs).unwrap();
        let [inputs, output] = ["inputs.jsonl", "1-1.out"].map(|name| logs.join(name));
        for path in [&inputs, &output, &dir.progress()] {
            fs::write(path, "a key").unwrap();
        }
        let outside = project.path().join("outside");
        fs::write(&outside, "a key").unwrap();
        std::os::unix::fs::symlink(&outside, logs.join("1-2.out")).unwrap();
        let store = FileStore::new(dir.clone(), Arc::new(SystemClock::new()));
        for (writes, content) in [(false, "a key"), (true, "none")] {
            let rewritten = store.rewrite(writes, &mut |_, _| Some(b"none".to_vec())).unwrap();
            assert_eq!(rewritten.files, [dir.progress(), output.clone(), inputs.clone()]);
            assert_eq!(rewritten.failures, [""; 0]);
            assert_eq!(fs::read_to_string(&inputs).unwrap(), content);
        }
        assert_eq!(fs::read_to_string(&outside).unwrap(), "a key");
    }
}
