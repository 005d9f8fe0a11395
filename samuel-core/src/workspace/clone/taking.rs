//! What an agent left in its clone: looked at, committed and taken in, or left and moved aside.

use std::{fs, io::ErrorKind, path::PathBuf};

use super::{CloneWorkspace, Collected, Stands, WorkNote, blocking};
use crate::{
    fs::private,
    git::program::GitProgramError,
    text::described,
    workspace::{
        CloneProblem, RefusedWork, WorkspaceError, WorkspaceStep,
        bundle::{self, Door},
        elsewhere,
        error::listed,
        git::Configured,
        inspect,
        record::{self, Record},
        users_tree::{Standing, UsersTree},
    },
};

/// How many clones are moved aside before somebody has to look.
const MAX_ASIDE: u32 = 10_000;
/// How many commits are named in the message of the one that is made of them.
const MAX_SUBJECTS: usize = 100;

impl CloneWorkspace {
    pub(super) async fn collect_into(
        &self,
        record: &mut Record,
        note: &WorkNote,
    ) -> Result<Option<Collected>, WorkspaceError> {
        self.look_for_traps(record).await?;
        self.step(WorkspaceStep::Inspected);
        let (mut head, left) = match self.commit(record, note).await {
            Ok(committed) => committed,
            Err(error) => return Err(self.refuse_failed(record, error).await?),
        };
        self.step(WorkspaceStep::Committed);
        let changed = self.changed_control_files().await?;
        if !changed.is_empty() {
            return Err(self.refuse(record, &head, RefusedWork::ControlFiles { files: changed }).await?);
        }
        let is_beyond = match head == record.tip {
            true => Ok(false),
            false => self.is_beyond(&record.base, &head).await,
        };
        let is_new = match is_beyond {
            Ok(is_new) => is_new,
            Err(error) => return Err(self.refuse_failed(record, error).await?),
        };
        if !is_new {
            let (base, known) = (record.base.clone(), &mut record.elsewhere);
            match elsewhere::new(&self.git, &self.tree(), &base, known).await {
                Ok(None) => {}
                Ok(Some((branch, commit))) => {
                    return Err(self.refuse(record, &commit, RefusedWork::Elsewhere { branch }).await?);
                }
                Err(error) => return Err(self.refuse_failed(record, error).await?),
            }
            let taken = [&*record.base, &*record.tip];
            let left = elsewhere::in_reflogs(&self.git, &self.tree(), &taken, &record.elsewhere).await;
            if let Ok(Some(commit)) = left {
                record.unspent = true;
                // The reflogs go now.
                let name = format!("refs/samuel/left/{commit}");
                self.git.run(&self.tree(), &["update-ref", &name, &commit]).await?;
                self.tell([
                    "commits that no branch has were not taken out: they stay in the clone".to_owned()
                ]);
            }
            if head != record.tip {
                self.undone(record, &head).await?;
            }
            self.forget_reflogs()?;
            record.at_work = false;
            self.save(record)?;
            return Ok(None);
        }
        let (bundle, reference, own) =
            (self.file("work.bundle"), self.work_reference(), self.own_paths(record));
        let (limit, control) = (self.setup.limits.bundle, &self.setup.control);
        let mut is_one_commit = false;
        let commit = loop {
            if let Err(error) = bundle::make(&self.git, &self.tree(), &record.base, &bundle).await {
                return Err(self.refuse_failed(record, error).await?);
            }
            self.step(WorkspaceStep::Bundled);
            let UsersTree { top, common_dir, prefix, .. } = &self.users;
            let (base, key, own) = (&record.base, &self.key, &own);
            let door = Door { git: &self.git, top, common_dir, prefix, base, key, own };
            let taken = door.take_in(&bundle, limit, &reference, |path| control.covers(path)).await?;
            record::remove(&bundle)?;
            match taken {
                Ok(commit) => break commit,
                Err(RefusedWork::Own { files }) if !is_one_commit => {
                    // What is in the one commit was taken out.
                    record.elsewhere.push(head.clone());
                    head = match self.make_one_commit(record, note, &head).await {
                        Ok(commit) => commit,
                        Err(error) => return Err(self.refuse_failed(record, error.into()).await?),
                    };
                    is_one_commit = true;
                    let told = "commits of the agent had files that Samuel had put into the workspace";
                    let files = listed(&files);
                    self.tell([format!("{told}, so their work is now one commit without them: {files}")]);
                }
                Err(refusal @ RefusedWork::Damaged { .. }) => {
                    return Err(self.refuse_whole(record, refusal).await?);
                }
                Err(refusal) => return Err(self.refuse(record, &head, refusal).await?),
            }
        };
        self.forget_reflogs()?;
        self.step(WorkspaceStep::TakenIn);
        record.tip.clone_from(&commit);
        record.at_work = false;
        let beyond = elsewhere::new(&self.git, &self.tree(), &record.base, &mut record.elsewhere).await;
        if let Ok(Some((branch, _))) = &beyond {
            // Cleaning runs no git there to find that out.
            record.unspent = true;
            self.tell([format!(
                "work on {branch} was not taken out: it is not on the branch that is checked out"
            )]);
        }
        self.save(record)?;
        self.step(WorkspaceStep::Collected);
        Ok(Some(Collected { commit, reference, left }))
    }

    /// Sees to it that what was taken in before and is not there any more counts as work no longer: nobody checks it.
    async fn undone(&self, record: &mut Record, head: &str) -> Result<(), WorkspaceError> {
        match self.stands {
            // What is checked there is not what the base is.
            Stands::OnTask if head != record.base => {
                let refusal = RefusedWork::Rewritten { base: record.base.clone() };
                Err(self.refuse(record, head, refusal).await?)
            }
            // It is on the task's branch.
            Stands::OnTask => {
                record.tip.clone_from(&record.base);
                Ok(())
            }
            Stands::OnUsersBranch if record.tip == record.base => Ok(()),
            Stands::OnUsersBranch => self.keep(record).await.map(drop),
        }
    }

    /// Commits what an agent left, with the index of Samuel's own: nothing that is in the one that it left is
    /// believed, so that the commit is what the files are. Those that Samuel put there are as in the base, also after a
    /// commit of the agent that changed them. Returns the last commit, and the files of the project that the agent left.
    async fn commit(
        &self,
        record: &Record,
        note: &WorkNote,
    ) -> Result<(String, Vec<String>), WorkspaceError> {
        let (tree, own) = (self.tree(), self.own_paths(record));
        self.clear_clone(record)?;
        self.run_indexed(&["read-tree", "--reset", "HEAD"]).await?;
        self.run_indexed(&["add", "--all"]).await?;
        self.run_indexed(&own.after(&["reset", "--quiet", &record.base, "--"])).await?;
        let differs = self.run_indexed(&["diff-index", "--cached", "--name-only", "-z", "HEAD"]).await?;
        let (differs, prefix) = (differs.stdout.head, self.users.prefix.as_bytes());
        // Files that Samuel put there are taken out of the agent's commits.
        let left = differs.split(|byte| *byte == 0).filter(|path| !own.cover(path));
        let left = left.filter_map(|path| path.strip_prefix(prefix));
        let left =
            left.filter(|path| !path.is_empty()).map(|path| String::from_utf8_lossy(path).into_owned());
        let left = left.collect();
        if !differs.is_empty() {
            let message = message_of(note, "");
            let args = ["commit", "--quiet", "--no-verify", "--cleanup=verbatim", "-m", &message];
            self.run_indexed(&args).await?;
        }
        self.give_index().await?;
        let (users, at) = (self.users.clone(), tree.clone());
        let head = blocking(move || {
            let repository = users.repository(&at)?;
            let head = repository.head()?.commit();
            // What else a branch can name than a commit, git is to say.
            let is_commit = head.map(|head| repository.tree_of(&head)).transpose()?.flatten().is_some();
            Ok(head.filter(|_| is_commit).map(|head| head.to_string()))
        });
        match head.await {
            Ok(Some(head)) => Ok((head, left)),
            _ => Ok((self.git.line(&tree, &["rev-parse", "--verify", "HEAD^{commit}"]).await?, left)),
        }
    }

    /// Returns whether a commit of the clone has some that a base does not have.
    async fn is_beyond(&self, base: &str, head: &str) -> Result<bool, WorkspaceError> {
        if head == base {
            return Ok(false);
        }
        let line = self.users.line_in(&self.tree(), base, head).await;
        if line.is_some_and(|line| !line.is_empty()) {
            return Ok(true);
        }
        let beyond = format!("{base}..{head}");
        Ok(self.git.line(&self.tree(), &["rev-list", "--count", &beyond]).await? != "0")
    }

    /// Makes one commit of all since the last one that was taken in, with the files of the last, and returns it.
    async fn make_one_commit(
        &self,
        record: &Record,
        note: &WorkNote,
        head: &str,
    ) -> Result<String, GitProgramError> {
        let tree = self.tree();
        let goes_on = ["merge-base", "--is-ancestor", &record.tip, head];
        let parent = if self.git.says_yes(&tree, &goes_on).await { &record.tip } else { &record.base };
        let range = format!("{parent}..{head}");
        let most = format!("--max-count={MAX_SUBJECTS}");
        let subjects = self.git.line(&tree, &["log", "--reverse", &most, "--format=- %s", &range]).await?;
        let of_head = format!("{head}^{{tree}}");
        let args = ["commit-tree", "-p", parent, "-F", "-", &of_head];
        let spec = self.git.call(&tree, Configured::Alone, &args);
        let made = self.git.finish("commit-tree", spec.stdin(message_of(note, &subjects))).await?;
        let commit = made.stdout.text().trim().to_owned();
        self.git.run(&tree, &["update-ref", "HEAD", &commit, head]).await?;
        Ok(commit)
    }

    /// Leaves refused work in the clone, under a reference of its own.
    async fn refuse(
        &self,
        record: &mut Record,
        head: &str,
        refusal: RefusedWork,
    ) -> Result<WorkspaceError, WorkspaceError> {
        let name = format!("refs/samuel/refused/{}", record.refused + 1);
        if let Err(error) = self.git.run(&self.tree(), &["update-ref", &name, head]).await {
            // The agent may have made a reference that is in the way.
            let error = error.into();
            return match self.damage(&error) {
                Some(_) => self.refuse_whole(record, refusal).await,
                None => Err(error),
            };
        }
        record.refused += 1;
        record.failed = true;
        record.at_work = false;
        self.save(record)?;
        Ok(WorkspaceError::Refused { refusal, clone: self.tree(), name })
    }

    /// Refuses a clone in which git fails, such as for an object that takes more memory than there is for one, or whose
    /// files cannot be written.
    async fn refuse_failed(
        &self,
        record: &mut Record,
        error: WorkspaceError,
    ) -> Result<WorkspaceError, WorkspaceError> {
        match self.damage(&error) {
            Some(complaint) => self.refuse_whole(record, RefusedWork::Damaged { complaint }).await,
            None => Err(error),
        }
    }

    /// Returns what is damaged in the clone, if an error says so.
    pub(super) fn damage(&self, error: &WorkspaceError) -> Option<String> {
        match error {
            WorkspaceError::Git(GitProgramError::Failed { message, .. }) => Some(message.clone()),
            WorkspaceError::Io { path, .. } if path.starts_with(self.tree()) => Some(described(error)),
            _ => None,
        }
    }

    /// Moves the clone aside, since no git is to be run in it any more, and makes another.
    async fn refuse_whole(
        &self,
        record: &mut Record,
        refusal: RefusedWork,
    ) -> Result<WorkspaceError, WorkspaceError> {
        let clone = self.replace(record).await?;
        Ok(WorkspaceError::Refused { refusal, clone, name: "a whole".to_owned() })
    }

    /// Moves the clone aside and makes another, without what was not taken in.
    async fn replace(&self, record: &mut Record) -> Result<PathBuf, WorkspaceError> {
        let kept = self.move_aside(record).await?;
        let standing = match self.stands {
            Stands::OnTask => {
                self.publish(record).await?;
                Standing { branch: record.branch.clone(), commit: record.tip.clone() }
            }
            Stands::OnUsersBranch => {
                if record.tip != record.base {
                    self.keep(record).await?;
                }
                let users = self.users.clone();
                blocking(move || users.standing()).await?
            }
        };
        self.make(record, &standing).await?;
        Ok(kept)
    }

    /// Looks at what an agent left. Where it must not be touched by git, the clone is moved aside and another
    /// one made.
    pub(super) async fn look_for_traps(&self, record: &mut Record) -> Result<(), WorkspaceError> {
        let found = self.traps(record).await?;
        if found.is_empty() {
            return Ok(());
        }
        let kept = self.replace(record).await?;
        Err(WorkspaceError::Planted { found, kept })
    }

    /// Returns what keeps git from being run in the clone, without what its commit has itself.
    pub(super) async fn traps(&self, record: &Record) -> Result<Vec<CloneProblem>, WorkspaceError> {
        let mut found = self.inspected(record).await?;
        found.retain(
            |finding| !matches!(finding, CloneProblem::Embedded(path) if record.embedded.contains(path)),
        );
        Ok(found)
    }

    pub(super) async fn inspected(&self, record: &Record) -> Result<Vec<CloneProblem>, WorkspaceError> {
        let (tree, limits) = (self.tree(), self.setup.limits.inspect);
        let (config, alternates) = (record.config.clone(), record.alternates.clone());
        blocking(move || Ok(inspect(&tree, config.as_bytes(), alternates.as_bytes(), limits))).await
    }

    pub(super) async fn move_aside(&self, record: &mut Record) -> Result<PathBuf, WorkspaceError> {
        // An agent may remove the ground it stands on, and what that stands in.
        private::require(&self.setup.directory).map_err(WorkspaceError::io("use", &self.setup.directory))?;
        let free = (1..MAX_ASIDE).map(|number| self.file(&format!("kept-{number}")));
        let kept = free.into_iter().find(|path| fs::symlink_metadata(path).is_err());
        let kept = kept.unwrap_or_else(|| self.file("kept"));
        match fs::rename(self.tree(), &kept) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(WorkspaceError::io("move", &self.tree())(error));
            }
            _ => {}
        }
        record.at_work = false;
        record.refused = 0;
        self.save(record)?;
        Ok(kept)
    }
}

/// Returns the message of a commit that Samuel makes.
fn message_of(note: &WorkNote, body: &str) -> String {
    let title = note.title.as_deref().unwrap_or("Commit what was left uncommitted");
    let task = note.task.as_ref().map(|task| format!("Samuel-Task: {task}"));
    let parts = [Some(title), Some(body), task.as_deref()].into_iter().flatten();
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}
