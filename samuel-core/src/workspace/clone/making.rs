//! A clone that an agent can work in: made of the commit of the user's branch, and checked out by Samuel alone.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use super::{CloneWorkspace, INDEX, MAX_CONFIG, NEW_TREE, NOBODY, PREPARED, blocking};
use crate::{
    fs::{Durability, Manner, Root, read_anywhere},
    git::program::GitProgramError,
    process::CommandOutput,
    workspace::{
        CloneProblem, WorkspaceError, WorkspaceStep,
        copied::OwnPaths,
        error::listed,
        git::Configured,
        objects::{self, SHALLOW},
        preparation::Unprepared,
        record::{self, Record},
        ref_locks,
        run_files::run_files,
        users_tree::Standing,
    },
};

/// Settings of the user by which files and commits are made; the clone gets them.
const USERS_SETTINGS: [&str; 4] = ["user.name", "user.email", "core.autocrlf", "core.eol"];
/// The pattern of their names.
const OF_USERS_SETTINGS: &str = r"^(user\.(name|email)|core\.(autocrlf|eol))$";
/// The largest index that is read, in bytes.
const MAX_INDEX: u64 = 256 << 20;

impl CloneWorkspace {
    /// Makes the clone, of the user's branch, and checks it out.
    pub(super) async fn make(&self, record: &mut Record, standing: &Standing) -> Result<(), WorkspaceError> {
        let new = self.file(NEW_TREE);
        record::remove(&new)?;
        [PREPARED, INDEX].iter().try_for_each(|name| record::remove(&self.file(name)))?;
        let (tree, top) = (new.display().to_string(), &self.users.top);
        let format = self.git.line(top, &["rev-parse", "--show-object-format"]).await?;
        let (branch, format) =
            (format!("--initial-branch={}", standing.branch), format!("--object-format={format}"));
        // What `git clone --shared --no-checkout` makes, without asking a git in the user's tree for it.
        let args = ["init", "--quiet", "--template=", &branch, &format, "--", &tree];
        self.git.run(&self.setup.directory, &args).await?;
        let mut alternates = String::new();
        if self.users.is_shallow() {
            self.bring(false, &new).await?;
        } else {
            alternates = format!("{}\n", self.users.common_dir.join("objects").display());
            let info = new.join(".git/objects/info");
            fs::create_dir_all(&info).map_err(WorkspaceError::io("create", &info))?;
            let file = info.join("alternates");
            fs::write(&file, &alternates).map_err(WorkspaceError::io("write", &file))?;
        }
        self.configure(&new).await?;
        let reference = format!("refs/heads/{}", standing.branch);
        self.git.run(&new, &["update-ref", &reference, &standing.commit]).await?;
        self.copy_tags(&new).await?;
        let config = new.join(".git/config");
        let config = read_anywhere(&config, MAX_CONFIG).map_err(WorkspaceError::file("read", &config))?;
        *record = Record {
            branch: standing.branch.clone(),
            base: standing.commit.clone(),
            tip: standing.commit.clone(),
            config: String::from_utf8_lossy(&config).into_owned(),
            alternates,
            kept: record.kept,
            pins: record.pins,
            unprepared: true,
            copied: std::mem::take(&mut record.copied),
            ..Record::default()
        };
        self.step(WorkspaceStep::Cloned);
        // Before the clone has its name: without it, nobody worked there.
        self.save(record)?;
        fs::rename(&new, self.tree()).map_err(WorkspaceError::io("move", &new))?;
        self.check_out(record, standing).await
    }

    /// Copies the objects that a clone does not have, if it shares none. Returns the commits whose parents it does not
    /// have then.
    pub(super) async fn bring(&self, shares: bool, tree: &Path) -> Result<String, WorkspaceError> {
        let (users, to) = (self.users.clone(), tree.join(".git/objects"));
        blocking(move || {
            // Before the objects: a `git fetch` may bring more of them meanwhile.
            let shallow = objects::shallow(&users.common_dir)?;
            if !shares {
                objects::bring(&users.repository(&users.top)?.object_stores()?, &to)?;
            }
            Ok(shallow)
        })
        .await
    }

    /// Gives a clone the settings of the user by which files and commits are made.
    async fn configure(&self, tree: &Path) -> Result<(), WorkspaceError> {
        let args = ["config", "-z", "--get-regexp", OF_USERS_SETTINGS];
        let spec = self.git.call(&self.users.top, Configured::ByUser, &args);
        // Git fails where there is none.
        let listed = self.git.list("config", spec).await.ok().flatten().unwrap_or_default();
        let value_of = |name: &str| {
            let value = |entry: &Vec<u8>| {
                let text = String::from_utf8_lossy(entry);
                text.split_once('\n').filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
            };
            // The last one counts.
            listed.iter().rev().find_map(value).filter(|value| !value.is_empty())
        };
        let mut text = String::new();
        for name in USERS_SETTINGS {
            let nobody = NOBODY.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
            let value = value_of(name).or(nobody);
            text.extend(value.map(|value| setting(name, &value)));
        }
        let excludes = self.git.users_excludes(&self.users.top).await;
        text.extend(excludes.map(|excludes| setting("core.excludesFile", &excludes)));
        let config = tree.join(".git/config");
        let added = OpenOptions::new().append(true).open(&config);
        added
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(WorkspaceError::io("write", &config))
    }

    async fn copy_tags(&self, tree: &Path) -> Result<(), WorkspaceError> {
        let args = ["for-each-ref", "--format=create %(refname)%00%(objectname)%00", "refs/tags"];
        let list = self.git.run(&self.users.top, &args).await?.stdout;
        if list.total_bytes == 0 || list.is_truncated() || !list.tail.is_empty() {
            return Ok(());
        }
        // A line ends each, which the other command does not want.
        let lines = list.head.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let input: Vec<u8> = lines.flatten().copied().collect();
        let spec = self.git.call(tree, Configured::Alone, &["update-ref", "--stdin", "-z"]).stdin(input);
        self.git.finish("update-ref", spec).await?;
        Ok(())
    }

    /// Makes the files of the clone those of the user's branch, all but the ignored ones.
    pub(super) async fn check_out(
        &self,
        record: &mut Record,
        standing: &Standing,
    ) -> Result<(), WorkspaceError> {
        let (tree, commit) = (self.tree(), standing.commit.as_str());
        self.pins().pin_base(&mut record.pins, commit).await?;
        record.shallow = self.bring(!record.alternates.is_empty(), &tree).await?;
        let copied = OwnPaths::of(&self.setup.preparation.copy, &self.users.prefix);
        let gone = OwnPaths::from_paths(&record.copied).without(&copied);
        record.copied = copied.paths().to_vec();
        self.clear_clone(record)?;
        let reference = format!("refs/heads/{}", standing.branch);
        let (head, named) = (tree.join(".git/HEAD"), format!("ref: {reference}\n"));
        let manner = Manner::PRIVATE.with(Durability::Whole);
        let written = Root::new(tree.join(".git")).write(&head, [named.as_bytes()], &manner);
        written.map_err(WorkspaceError::file("write", &head))?;
        self.git.run(&tree, &["update-ref", "--no-deref", &reference, commit]).await?;
        let is_new = !self.file(INDEX).is_file();
        self.run_indexed(&["read-tree", "--reset", commit]).await?;
        if is_new {
            // Finds the files that are as in the commit, so that they keep their times. It fails if others differ.
            let _ = self.run_indexed(&["update-index", "-q", "--refresh"]).await;
        }
        // `read-tree -u` instead would count files as unchanged whose directory the agent moved and replaced by a link.
        self.run_indexed(&["checkout-index", "--force", "--all", "--quiet", "-u"]).await?;
        self.run_indexed(&["clean", "-f", "-d", "--quiet"]).await?;
        self.give_index().await?;
        self.forget_reflogs()?;
        if !gone.is_empty() {
            // Git may ignore it.
            self.git.run(&tree, &gone.after(&["clean", "-ffdqx", "--"])).await?;
        }
        record.branch.clone_from(&standing.branch);
        commit.clone_into(&mut record.base);
        commit.clone_into(&mut record.tip);
        (record.failed, record.at_work) = (false, false);
        let found = self.inspected(record).await?.into_iter();
        let own = found
            .filter_map(|found| if let CloneProblem::Embedded(path) = found { Some(path) } else { None });
        record.embedded = own.collect();
        let (control, directory) = (Arc::clone(&self.setup.control), self.work_dir());
        record.seen = blocking(move || Ok(control.look(&directory))).await?;
        self.save(record)?;
        self.has_seen(record);
        self.step(WorkspaceStep::CheckedOut);
        Ok(())
    }

    /// Copies files into the clone, and runs the commands of the setup if they were not run there. What these leave
    /// goes unless git ignores it, since it is nobody's work.
    pub(super) async fn prepare(&self, record: &mut Record) -> Result<(), WorkspaceError> {
        let (tree, work_dir, note) = (self.tree(), self.work_dir(), self.file(PREPARED));
        let (preparation, copied) = (&self.setup.preparation, OwnPaths::from_paths(&record.copied));
        if !copied.is_empty() {
            let listed = self.git.run(&tree, &copied.after(&["ls-files", "-z", "--"])).await?;
            OwnPaths::untracked(&listed.stdout.text())?;
        }
        let to = Unprepared { root: &self.setup.root, tree: &tree, work_dir: &work_dir, note: &note };
        if preparation.apply(&self.git, to).await? {
            let traps = self.traps(record).await?;
            if !traps.is_empty() {
                record::remove(&note)?;
                let lines: Vec<&str> = preparation.setup.iter().map(|(line, _)| line.as_str()).collect();
                let why = format!("git must not run in what it left: {}", listed(&traps));
                return Err(WorkspaceError::SetUp { command: lines.join("; "), why });
            }
            let standing = Standing { branch: record.branch.clone(), commit: record.tip.clone() };
            self.check_out(record, &standing).await?;
            preparation.apply(&self.git, to).await?;
        }
        if std::mem::take(&mut record.unprepared) {
            self.save(record)?;
        }
        Ok(())
    }

    /// Runs git in the clone with the index of Samuel's own. The one in the clone is an agent's, and is never believed.
    pub(super) async fn run_indexed(&self, args: &[&str]) -> Result<CommandOutput, GitProgramError> {
        let name = args.first().copied().unwrap_or_default();
        let spec = self.git.call(&self.tree(), Configured::Alone, args);
        let spec = spec.env("GIT_INDEX_FILE", self.file(INDEX).display().to_string());
        self.git.finish(name, spec).await
    }

    /// Gives the clone a copy of the index, so that git of an agent works there. If git could miss a change by that
    /// index, the next one is made from the content of all files.
    pub(super) async fn give_index(&self) -> Result<(), WorkspaceError> {
        let (own, git) = (self.file(INDEX), self.tree().join(".git"));
        let (given, manner) = (git.join("index"), Manner::PRIVATE.with(Durability::Unsynced));
        let bytes = read_anywhere(&own, MAX_INDEX).map_err(WorkspaceError::file("read", &own))?;
        let written = Root::new(&git).write(&given, [bytes.as_slice()], &manner);
        written.map_err(WorkspaceError::file("write", &given))?;
        let (users, directory) = (self.users.clone(), self.setup.directory.clone());
        let can_miss = blocking(move || {
            let repository = users.repository(&users.top)?.with_git_dir(&directory);
            // One that cannot be read is not relied on.
            Ok(repository.index().and_then(|index| index.can_miss_changes()).unwrap_or(true))
        });
        if can_miss.await? { record::remove(&own) } else { Ok(()) }
    }

    /// Removes the reflogs of branches, so that they have commits of the next turn alone.
    pub(super) fn forget_reflogs(&self) -> Result<(), WorkspaceError> {
        let git = self.tree().join(".git");
        ["logs/HEAD", "logs/refs/heads"].iter().try_for_each(|name| record::remove(&git.join(name)))
    }

    /// Returns what Samuel put into the clone: copied files, and the files of runs.
    pub(super) fn own_paths(&self, record: &Record) -> OwnPaths {
        OwnPaths::from_paths(&record.copied).and(run_files(&self.users.prefix))
    }

    /// Takes over what is known of the control files as they were checked out.
    pub(super) fn has_seen(&self, record: &Record) {
        let seen = (record.seen.clone(), record.config.clone());
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// Removes what gits that were killed left in the clone, and what an agent was in the middle of.
    pub(super) fn clear_clone(&self, record: &Record) -> Result<(), WorkspaceError> {
        let git = self.tree().join(".git");
        let others =
            ["index", "config.lock", "shallow.lock", ref_locks::PACKED, "rebase-merge", "rebase-apply"];
        let mut names = ref_locks::OF_TREE.iter().chain(&others);
        names.try_for_each(|name| record::remove(&git.join(name)))?;
        record::remove(&self.file(ref_locks::INDEX_LOCK))?;
        // Rules by which files are ignored that are in no commit: a clone is made without.
        let info = git.join("info");
        if info.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            record::remove(&info.join("exclude"))?;
        }
        let write = |file: PathBuf, text: &str| {
            let manner = Manner::PRIVATE.with(Durability::Unsynced);
            let written = Root::new(&git).write(&file, [text.as_bytes()], &manner);
            written.map_err(WorkspaceError::file("write", &file))
        };
        write(info.join("exclude"), &self.own_paths(record).patterns())?;
        // An agent must not cut off history.
        match record.shallow.as_str() {
            "" => record::remove(&git.join(SHALLOW))?,
            list => write(git.join(SHALLOW), list)?,
        }
        ref_locks::remove(&git.join("refs"))
    }
}

/// Returns a setting as configuration files have it.
fn setting(name: &str, value: &str) -> String {
    let (section, key) = name.split_once('.').unwrap_or((name, ""));
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("[{section}]\n\t{key} = \"{value}\"\n")
}

#[cfg(test)]
mod tests {
    use super::setting;

    #[test]
    fn quotes_values_of_settings() {
        assert_eq!(setting("user.name", "A \"b\" \\ c#"), "[user]\n\tname = \"A \\\"b\\\" \\\\ c#\"\n");
    }
}
