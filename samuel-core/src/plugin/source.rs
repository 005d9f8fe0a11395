//! Where plugins come from, and fetching them.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

use super::{MANIFEST_FILE, Manifest, PluginError};
use crate::{
    git::program::{GitProgram, GitProgramError, refused_transport},
    model::{redacted, without_credentials},
};

/// Where a plugin comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallSource {
    /// A directory.
    Directory {
        /// The directory, absolute.
        path: PathBuf,
        /// Whether it was named by a relative path, so that one is recorded.
        is_relative: bool,
    },
    /// A git repository.
    Git {
        /// Its URL, or its path, absolute.
        url: String,
        /// The branch, tag or commit; the remote's default where absent.
        revision: Option<String>,
        /// Whether it was named by a relative path, so that one is recorded.
        is_relative: bool,
    },
}

impl InstallSource {
    /// Reads a source: a directory, a manifest or component in one, or the URL
    /// of a git repository, with `#` and a revision if one is wanted. Paths are
    /// taken as seen from `base`.
    ///
    /// # Errors
    /// Returns [`PluginError::Source`] for what is none of them.
    pub fn parse(text: &str, base: &Path) -> Result<Self, PluginError> {
        let refused = |problem| PluginError::Source { source_text: redacted(text).into_owned(), problem };
        let address = text.strip_prefix("git+").unwrap_or(text);
        if let Some(problem) = refused_transport(address) {
            return Err(refused(problem));
        }
        if is_url(text) {
            return repository(address, base).map_err(refused);
        }
        let is_relative = Path::new(text).is_relative();
        let path = base.join(text);
        if path.is_dir() {
            let path = path.canonicalize().map_err(PluginError::io("read", path))?;
            return Ok(Self::Directory { path, is_relative });
        }
        let Some(parent) = path.parent().filter(|_| path.is_file()) else {
            return Err(refused(match text.split_once('#') {
                Some((directory, _)) if base.join(directory).is_dir() => {
                    "to install a revision of a git repository in a directory, put git+ before its path"
                }
                _ => "there is no such file or directory, and it is not the URL of a git repository",
            }));
        };
        let parent = parent.canonicalize().map_err(PluginError::io("read", &path))?;
        let is_manifest = path.file_name().is_some_and(|name| name == MANIFEST_FILE);
        let is_module = || {
            let manifest = Manifest::load(&parent).ok()?;
            let module = parent.join(manifest.module?).canonicalize().ok()?;
            path.canonicalize().ok().filter(|path| *path == module)
        };
        match is_manifest || is_module().is_some() {
            true => Ok(Self::Directory { path: parent, is_relative }),
            false => Err(refused(
                "the file is neither a samuel-plugin.toml nor the component that one beside it names",
            )),
        }
    }

    /// Returns the text that samuel.toml keeps: a path relative to the project,
    /// unless an absolute one was given that leads out of it; a URL without its
    /// credentials.
    pub fn recorded(&self, project_root: &Path) -> String {
        match self {
            Self::Directory { path, is_relative } => recorded_path(path, *is_relative, project_root),
            Self::Git { url, revision, is_relative } if Path::new(url).is_absolute() => {
                let path = recorded_path(Path::new(url), *is_relative, project_root);
                format!("git+{path}{}", behind_hash(revision.as_deref()))
            }
            git => without_credentials(&git.to_string()).into_owned(),
        }
    }

    /// Says whether it is a URL with a password or token, which is not kept.
    pub fn has_credentials(&self) -> bool {
        let text = self.to_string();
        matches!(self, Self::Git { .. }) && without_credentials(&text) != text
    }
}

/// Reads as [`InstallSource::parse`] takes it.
impl fmt::Display for InstallSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { path, .. } => write!(f, "{}", path.display()),
            Self::Git { url, revision, .. } => {
                let prefix = if is_url(url) { "" } else { "git+" };
                write!(f, "{prefix}{url}{}", behind_hash(revision.as_deref()))
            }
        }
    }
}

fn behind_hash(revision: Option<&str>) -> String {
    revision.map(|revision| format!("#{revision}")).unwrap_or_default()
}

/// Reads the URL or the path of a git repository, with its revision.
fn repository(address: &str, base: &Path) -> Result<InstallSource, &'static str> {
    let (url, revision) = match address.split_once('#') {
        Some((url, revision)) => (url, Some(revision.to_owned())),
        None => (address, None),
    };
    // Git takes what begins so for an option.
    if revision.as_deref().is_some_and(|revision| revision.is_empty() || revision.starts_with('-')) {
        return Err("what follows # is not a revision");
    }
    if is_url(url) {
        return Ok(InstallSource::Git { url: url.to_owned(), revision, is_relative: false });
    }
    // Git itself would look from the directory that it fetches into.
    let is_relative = Path::new(url).is_relative();
    let found = base.join(url).canonicalize().ok().and_then(|path| path.into_os_string().into_string().ok());
    match found {
        Some(url) => Ok(InstallSource::Git { url, revision, is_relative }),
        None => Err("there is no such file or directory"),
    }
}

/// Writes a path as seen from a project where it was given so or leads into it.
fn recorded_path(path: &Path, is_relative: bool, project_root: &Path) -> String {
    let root = project_root.canonicalize().unwrap_or_else(|_| project_root.to_owned());
    let below = path.strip_prefix(&root).ok().filter(|below| !below.as_os_str().is_empty());
    match below {
        Some(below) => format!("./{}", below.display()),
        None if is_relative => relative(path, &root).display().to_string(),
        None => path.display().to_string(),
    }
}

/// Returns an absolute path as seen from a directory.
fn relative(path: &Path, from: &Path) -> PathBuf {
    let shared = path.components().zip(from.components()).take_while(|(left, right)| left == right).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(shared)).collect();
    if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative }
}

fn is_url(text: &str) -> bool {
    let schemes = ["git+", "https://", "http://", "ssh://", "git://", "file://"];
    schemes.iter().any(|scheme| text.starts_with(scheme)) || is_scp_like(text)
}

/// Says whether a text is `user@host:path`, as git and ssh write it.
fn is_scp_like(text: &str) -> bool {
    text.split_once(':').is_some_and(|(left, _)| left.contains('@') && !left.contains('/'))
}

/// Fetches a repository into an empty directory, without its history, and
/// returns the commit.
pub(super) async fn clone(
    url: &str,
    revision: Option<&str>,
    into: &Path,
    git: &GitProgram<'_>,
) -> Result<String, PluginError> {
    let revision = revision.unwrap_or("HEAD");
    let failed = |error: GitProgramError| match error {
        GitProgramError::Run(source) => {
            PluginError::Program { program: "git".to_owned(), source: source.into() }
        }
        GitProgramError::Failed { message, .. } => {
            PluginError::Fetch { url: redacted(url).into_owned(), message: redacted(&message).into_owned() }
        }
    };
    let fetch = [
        "fetch",
        "--quiet",
        "--depth=1",
        "--no-tags",
        "--no-recurse-submodules",
        "--end-of-options",
        url,
        revision,
    ];
    git.run(into, &["init", "--quiet", "--template=", "."]).await.map_err(failed)?;
    git.run(into, &fetch).await.map_err(failed)?;
    git.run(into, &["checkout", "--quiet", "--detach", "--no-recurse-submodules", "FETCH_HEAD"])
        .await
        .map_err(failed)?;
    let output = git.run(into, &["rev-parse", "HEAD"]).await.map_err(failed)?;
    Ok(output.stdout.text().trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::*;

    #[test]
    fn urls_are_told_from_paths_and_carry_a_revision() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("project/sub")).unwrap();
        fs::create_dir_all(root.join("p")).unwrap();
        let git = |url: &str, revision: Option<&str>, is_relative| InstallSource::Git {
            url: url.to_owned(),
            revision: revision.map(str::to_owned),
            is_relative,
        };
        let parse = |text: &str| InstallSource::parse(text, &root.join("project")).unwrap();
        assert_eq!(parse("https://example.org/p.git"), git("https://example.org/p.git", None, false));
        assert_eq!(parse("git@example.org:a/p.git#v1"), git("git@example.org:a/p.git", Some("v1"), false));
        let p = root.join("p").display().to_string();
        assert_eq!(parse(&format!("git+{p}")), git(&p, None, false));
        assert_eq!(parse("git+../p#main"), git(&p, Some("main"), true));
        assert_eq!(parse("git+../p#main").recorded(&root.join("project")), "git+../p#main");
        assert_eq!(parse("git+sub").recorded(&root.join("project")), "git+./sub");
        assert_eq!(parse(&format!("git+{p}#v1")).recorded(&root.join("project")), format!("git+{p}#v1"));
        assert_eq!(parse(&parse(&format!("git+{p}#main")).to_string()), git(&p, Some("main"), false));
        for bad in [
            "https://example.org/p#",
            "https://example.org/p#--upload-pack=x",
            "no/such/path",
            "git+no/such/path",
            "git+fd::3",
            "git+ext::sh -c id",
            "git+-u",
            "ext::sh -c id",
        ] {
            assert!(
                matches!(InstallSource::parse(bad, Path::new("/")), Err(PluginError::Source { .. })),
                "{bad}"
            );
        }
        let error = InstallSource::parse("../p#v1", &root.join("project")).unwrap_err();
        assert!(error.to_string().contains("put git+ before its path"), "{error}");
    }

    #[test]
    fn a_directory_is_kept_relative_to_the_project_where_it_was_given_so_or_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("project/plugins/lint")).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        let project = root.join("project");
        let parse = |text: &str| InstallSource::parse(text, &project).unwrap();
        let absolute = |path: &str| root.join(path).display().to_string();
        assert_eq!(parse("plugins/lint").recorded(&project), "./plugins/lint");
        assert_eq!(parse(&absolute("project/plugins/lint")).recorded(&project), "./plugins/lint");
        assert_eq!(parse("../other").recorded(&project), "../other");
        assert_eq!(parse("..").recorded(&project), "..");
        assert_eq!(parse(&absolute("other")).recorded(&project), absolute("other"));
        let from_below = InstallSource::parse("../../other", &project.join("plugins")).unwrap();
        assert_eq!(from_below.recorded(&project), "../other");
        fs::write(root.join("other").join(MANIFEST_FILE), "").unwrap();
        fs::write(root.join("other/notes.txt"), "").unwrap();
        assert_eq!(parse("../other/samuel-plugin.toml"), parse("../other"));
        assert!(InstallSource::parse("../other/notes.txt", &project).is_err());
    }
}
