//! Where plugins come from, and fetching them.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::{MANIFEST_FILE, Manifest, PluginError};
pub(super) use crate::git::program::last_line;
use crate::{
    git::program::{GitProgram, GitProgramError, refused_transport},
    model::{redacted, without_credentials},
};

/// Where a plugin comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A directory, absolute.
    Directory(PathBuf),
    /// A git repository.
    Git {
        /// Its URL.
        url: String,
        /// The branch, tag or commit; the remote's default where absent.
        revision: Option<String>,
    },
}

impl Source {
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
            let text = address;
            let (url, revision) = match text.split_once('#') {
                Some((url, revision)) => (url, Some(revision.to_owned())),
                None => (text, None),
            };
            // Git takes what begins so for an option.
            if revision.as_deref().is_some_and(|revision| revision.is_empty() || revision.starts_with('-')) {
                return Err(refused("what follows # is no revision"));
            }
            return Ok(Self::Git { url: url.to_owned(), revision });
        }
        let path = base.join(text);
        if path.is_dir() {
            return path.canonicalize().map(Self::Directory).map_err(PluginError::io("read", path));
        }
        let Some(parent) = path.parent().filter(|_| path.is_file()) else {
            return Err(refused("there is no such file or directory, and it is no URL of a git repository"));
        };
        let parent = parent.canonicalize().map_err(PluginError::io("read", &path))?;
        let is_manifest = path.file_name().is_some_and(|name| name == MANIFEST_FILE);
        let is_module = || {
            let manifest = Manifest::load(&parent).ok()?;
            let module = parent.join(manifest.module?).canonicalize().ok()?;
            path.canonicalize().ok().filter(|path| *path == module)
        };
        match is_manifest || is_module().is_some() {
            true => Ok(Self::Directory(parent)),
            false => Err(refused(
                "the file is neither a samuel-plugin.toml nor the component that one beside it names",
            )),
        }
    }

    /// Returns the text that samuel.toml keeps: a path within the project
    /// relative to it, a URL without its credentials.
    pub fn recorded(&self, project_root: &Path) -> String {
        match self {
            Self::Directory(path) => {
                let root = project_root.canonicalize().unwrap_or_else(|_| project_root.to_owned());
                match path.strip_prefix(root) {
                    Ok(inner) if !inner.as_os_str().is_empty() => format!("./{}", inner.display()),
                    _ => path.display().to_string(),
                }
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

/// Reads as [`Source::parse`] takes it.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "{}", path.display()),
            Self::Git { url, revision } => {
                let prefix = if is_url(url) { "" } else { "git+" };
                write!(f, "{prefix}{url}")?;
                revision.iter().try_for_each(|revision| write!(f, "#{revision}"))
            }
        }
    }
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
        let git = |url: &str, revision: Option<&str>| Source::Git {
            url: url.to_owned(),
            revision: revision.map(str::to_owned),
        };
        let parse = |text| Source::parse(text, Path::new("/")).unwrap();
        assert_eq!(parse("https://example.org/p.git"), git("https://example.org/p.git", None));
        assert_eq!(parse("git@example.org:a/p.git#v1"), git("git@example.org:a/p.git", Some("v1")));
        assert_eq!(parse("git+/srv/p"), git("/srv/p", None));
        assert_eq!(parse(&parse("git+/srv/p#main").to_string()), git("/srv/p", Some("main")));
        for bad in [
            "https://example.org/p#",
            "https://example.org/p#--upload-pack=x",
            "no/such/path",
            "git+fd::3",
            "git+ext::sh -c id",
            "git+-u",
            "ext::sh -c id",
        ] {
            assert!(matches!(Source::parse(bad, Path::new("/")), Err(PluginError::Source { .. })), "{bad}");
        }
    }

    #[test]
    fn a_directory_is_kept_relative_to_the_project_it_is_in() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("project/plugins/lint")).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        let project = root.join("project");
        let parse = |text| Source::parse(text, &project).unwrap();
        assert_eq!(parse("plugins/lint").recorded(&project), "./plugins/lint");
        assert_eq!(parse("../other").recorded(&project), root.join("other").display().to_string());
        fs::write(root.join("other").join(MANIFEST_FILE), "").unwrap();
        fs::write(root.join("other/notes.txt"), "").unwrap();
        assert_eq!(parse("../other/samuel-plugin.toml"), parse("../other"));
        assert!(Source::parse("../other/notes.txt", &project).is_err());
    }
}
