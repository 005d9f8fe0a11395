//! Where plugins come from, and fetching them.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{MANIFEST_FILE, Manifest, PluginError};
use crate::process::{self, CommandOutput, CommandSpec, End, OutputLimits, Supervisor};

/// Variables that git needs to reach its remotes. What makes it look elsewhere
/// or run programs is not among them.
const GIT_ENV: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

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
        let refused = |problem| PluginError::Source { source_text: text.to_owned(), problem };
        if is_url(text) {
            let text = text.strip_prefix("git+").unwrap_or(text);
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
    /// relative to it.
    pub fn recorded(&self, project_root: &Path) -> String {
        match self {
            Self::Directory(path) => {
                let root = project_root.canonicalize().unwrap_or_else(|_| project_root.to_owned());
                match path.strip_prefix(root) {
                    Ok(inner) if !inner.as_os_str().is_empty() => format!("./{}", inner.display()),
                    _ => path.display().to_string(),
                }
            }
            git => git.to_string(),
        }
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
    git: &GitRunner<'_>,
) -> Result<String, PluginError> {
    let revision = revision.unwrap_or("HEAD");
    git.run(into, url, &["init", "--quiet", "."]).await?;
    git.run(into, url, &["fetch", "--quiet", "--depth=1", "--no-tags", "--end-of-options", url, revision])
        .await?;
    git.run(into, url, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]).await?;
    let output = git.run(into, url, &["rev-parse", "HEAD"]).await?;
    Ok(output.stdout.text().trim().to_owned())
}

/// How git is run: without anything of the user's or the repository's that
/// would start a program or ask a question.
pub(super) struct GitRunner<'a> {
    pub(super) env: &'a [(String, String)],
    pub(super) supervisor: &'a Supervisor,
    pub(super) cancel: &'a CancellationToken,
    /// The time all steps have together.
    pub(super) deadline: tokio::time::Instant,
}

impl GitRunner<'_> {
    async fn run(&self, directory: &Path, url: &str, args: &[&str]) -> Result<CommandOutput, PluginError> {
        let left = self.deadline.saturating_duration_since(tokio::time::Instant::now());
        let kept =
            self.env.iter().filter(|(name, _)| GIT_ENV.contains(&name.as_str()) || name.starts_with("LC_"));
        let spec = CommandSpec::new("git", directory)
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
                "-c",
                "protocol.ext.allow=never",
            ])
            .args(args)
            .envs(kept.cloned())
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "true")
            .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .timeout(left.max(Duration::from_millis(1)))
            .limits(OutputLimits { head: 0, tail: 4 * 1024, ..OutputLimits::default() });
        let ran = process::run(spec, self.supervisor, self.cancel).await;
        let output =
            ran.map_err(|source| PluginError::Program { program: "git".to_owned(), source: source.into() })?;
        if output.success() {
            return Ok(output);
        }
        let message = match output.end {
            End::TimedOut => "git did not end in time".to_owned(),
            End::Cancelled => "it was cancelled".to_owned(),
            _ => last_line(&output.stderr.text()).unwrap_or_else(|| output.status.to_string()),
        };
        Err(PluginError::Fetch { url: url.to_owned(), message })
    }
}

/// Returns the last line with something on it.
pub(super) fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(500).collect())
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
        for bad in ["https://example.org/p#", "https://example.org/p#--upload-pack=x", "no/such/path"] {
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
