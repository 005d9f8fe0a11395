//! Where plugins come from, and fetching them.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

use super::{MANIFEST_FILE, Manifest, PluginError, RegistryAddress, address, archive::is_archive};
use crate::{
    fs::Root,
    git::program::{GitProgram, GitProgramError, refused_transport},
    model::{is_digest, redacted, without_credentials},
};

/// The most bytes of what git says of a fetch.
const MAX_FETCH_HEAD: u64 = 64 << 10;

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
    /// A git repository, or a directory in one.
    Git {
        /// Its URL, or its path, absolute.
        url: String,
        /// The branch, tag or commit; the remote's default where absent.
        revision: Option<String>,
        /// The directory that the plugin is in, relative to the root of the repository; that where absent.
        subdirectory: Option<String>,
        /// Whether it was named by a relative path, so that one is recorded.
        is_relative: bool,
    },
    /// An archive that is a file.
    Archive {
        /// The file, absolute.
        path: PathBuf,
        /// `sha256:` and the digest that it has to have, where that is known.
        digest: Option<String>,
        /// Whether it was named by a relative path, so that one is recorded.
        is_relative: bool,
    },
    /// An archive at a URL.
    Download {
        /// The URL; `https`, or `http` of this machine.
        url: String,
        /// `sha256:` and the digest that it has to have.
        digest: String,
    },
    /// An artifact in a registry.
    Registry(RegistryAddress),
}

impl InstallSource {
    /// Reads a source. Paths are taken as seen from `base`.
    ///
    /// - a directory, or a manifest or component in one;
    /// - the URL of a git repository, or `git+` and its path, with `#` and a revision if one is wanted, and `:` and a
    ///   directory in it: `https://example.org/plugins.git#v1.2:lint`;
    /// - an archive, `.tar.gz` or `.tgz`: a file, or a URL with its digest, `https://../lint-1.2.0.tar.gz#sha256:..`;
    /// - `oci://host/name:tag`, in a registry.
    ///
    /// # Errors
    /// Returns [`PluginError::Source`] for what is none of them.
    pub fn parse(text: &str, base: &Path) -> Result<Self, PluginError> {
        let refused = |problem| PluginError::Source { source_text: redacted(text).into_owned(), problem };
        if text.starts_with(address::SCHEME) {
            return RegistryAddress::parse(text).map(Self::Registry).map_err(refused);
        }
        if let Some(archive) = archive(text, base) {
            return archive.map_err(refused);
        }
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
                "the file is neither a samuel-plugin.toml, nor the component that one beside it names, nor an archive",
            )),
        }
    }

    /// Returns the text that samuel.toml keeps: a path relative to the project,
    /// unless an absolute one was given that leads out of it; a URL without its
    /// credentials.
    pub fn recorded(&self, project_root: &Path) -> String {
        match self {
            Self::Directory { path, is_relative } => recorded_path(path, *is_relative, project_root),
            Self::Git { url, revision, subdirectory, is_relative } if Path::new(url).is_absolute() => {
                let path = recorded_path(Path::new(url), *is_relative, project_root);
                format!("git+{path}{}", behind_hash(revision.as_deref(), subdirectory.as_deref()))
            }
            Self::Archive { path, digest, is_relative } => {
                let path = recorded_path(path, *is_relative, project_root);
                format!("{path}{}", behind_hash(digest.as_deref(), None))
            }
            other => without_credentials(&other.to_string()).into_owned(),
        }
    }

    /// Says whether it is on this machine: a directory, a file, or a repository at a path.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Directory { .. } | Self::Archive { .. } => true,
            Self::Git { url, .. } => Path::new(url).is_absolute() || url.starts_with("file:"),
            Self::Download { .. } | Self::Registry(_) => false,
        }
    }

    /// Says whether it is a URL with a password or token, which is not kept.
    pub fn has_credentials(&self) -> bool {
        let text = self.to_string();
        matches!(self, Self::Git { .. } | Self::Download { .. }) && without_credentials(&text) != text
    }
}

/// Reads as [`InstallSource::parse`] takes it.
impl fmt::Display for InstallSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { path, .. } => write!(f, "{}", path.display()),
            Self::Git { url, revision, subdirectory, .. } => {
                let prefix = if is_url(url) { "" } else { "git+" };
                write!(f, "{prefix}{url}{}", behind_hash(revision.as_deref(), subdirectory.as_deref()))
            }
            Self::Archive { path, digest, .. } => {
                write!(f, "{}{}", path.display(), behind_hash(digest.as_deref(), None))
            }
            Self::Download { url, digest } => write!(f, "{url}#{digest}"),
            Self::Registry(address) => address.fmt(f),
        }
    }
}

fn behind_hash(revision: Option<&str>, subdirectory: Option<&str>) -> String {
    let subdirectory = subdirectory.map(|directory| format!(":{directory}")).unwrap_or_default();
    match revision.unwrap_or_default() {
        "" if subdirectory.is_empty() => String::new(),
        revision => format!("#{revision}{subdirectory}"),
    }
}

/// Reads an archive: a file, or a URL with its digest; nothing for what has no such name.
fn archive(text: &str, base: &Path) -> Option<Result<InstallSource, &'static str>> {
    let (address, digest) = match text.split_once('#') {
        Some((address, digest)) => (address, Some(digest)),
        None => (text, None),
    };
    let is_web = is_web(address);
    if !is_archive(address) || (is_url(address) && !is_web) {
        return None;
    }
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return Some(Err("what follows # is not sha256: and 64 hexadecimal digits"));
    }
    let digest = digest.map(str::to_owned);
    if is_web {
        let url = address.to_owned();
        let known = digest.ok_or("an archive at a URL needs its digest: put #sha256:<64 digits> behind it");
        return Some(known.map(|digest| InstallSource::Download { url, digest }));
    }
    let is_relative = Path::new(address).is_relative();
    let path = base.join(address).canonicalize().ok().filter(|path| path.is_file());
    let path = path.ok_or("there is no such file");
    Some(path.map(|path| InstallSource::Archive { path, digest, is_relative }))
}

/// Reads the URL or the path of a git repository, with its revision.
fn repository(address: &str, base: &Path) -> Result<InstallSource, &'static str> {
    let (url, behind) = match address.split_once('#') {
        Some((url, behind)) => (url, Some(behind)),
        None => (address, None),
    };
    // No name of a revision has a colon in it.
    let (revision, subdirectory) = match behind.map(|behind| behind.split_once(':').unwrap_or((behind, ""))) {
        Some((revision, "")) => (Some(revision.to_owned()), None),
        Some(("", directory)) => (None, Some(directory.to_owned())),
        Some((revision, directory)) => (Some(revision.to_owned()), Some(directory.to_owned())),
        None => (None, None),
    };
    // Git takes what begins so for an option.
    if revision.as_deref().is_some_and(|revision| revision.is_empty() || revision.starts_with('-')) {
        return Err("what follows # is not a revision");
    }
    let is_inner = |directory: &String| {
        Path::new(directory).components().all(|part| matches!(part, Component::Normal(_)))
    };
    if subdirectory.as_ref().is_some_and(|directory| !is_inner(directory)) {
        return Err("what follows : is not a directory within the repository");
    }
    if is_url(url) {
        return Ok(InstallSource::Git { url: url.to_owned(), revision, subdirectory, is_relative: false });
    }
    // Git itself would look from the directory that it fetches into.
    let is_relative = Path::new(url).is_relative();
    let found = base.join(url).canonicalize().ok().and_then(|path| path.into_os_string().into_string().ok());
    match found {
        Some(url) => Ok(InstallSource::Git { url, revision, subdirectory, is_relative }),
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

/// Says whether a text is a URL that is asked without git.
pub(super) fn is_web(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

pub(super) fn is_url(text: &str) -> bool {
    let schemes = ["git+", "https://", "http://", "ssh://", "git://", "file://"];
    schemes.iter().any(|scheme| text.starts_with(scheme)) || is_scp_like(text)
}

/// Says whether a text is `user@host:path`, as git and ssh write it.
fn is_scp_like(text: &str) -> bool {
    text.split_once(':').is_some_and(|(left, _)| left.contains('@') && !left.contains('/'))
}

/// What a repository was fetched at.
pub(super) struct Fetched {
    /// The commit.
    pub(super) commit: String,
    /// Whether a tag was asked for, which is not expected to move.
    pub(super) is_tag: bool,
}

/// Fetches a repository into an empty directory, without its history.
pub(super) async fn clone(
    url: &str,
    revision: Option<&str>,
    into: &Path,
    git: &GitProgram<'_>,
) -> Result<Fetched, PluginError> {
    let revision = revision.unwrap_or("HEAD");
    let refused = |message: &str| PluginError::Fetch {
        url: redacted(url).into_owned(),
        message: redacted(message).into_owned(),
    };
    let failed = |error: GitProgramError| match error {
        GitProgramError::Run(source) => {
            PluginError::Program { program: "git".to_owned(), source: source.into() }
        }
        GitProgramError::Failed { message, .. } => refused(&message),
        error => refused(&error.to_string()),
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
    // It says of what was fetched whether that is a branch, a tag or a commit.
    let head = Root::new(into).read_text(&into.join(".git/FETCH_HEAD"), MAX_FETCH_HEAD).unwrap_or_default();
    let is_tag =
        head.lines().next().and_then(|line| line.split('\t').nth(2)).is_some_and(|it| it.starts_with("tag "));
    Ok(Fetched { commit: output.stdout.text().trim().to_owned(), is_tag })
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
            subdirectory: None,
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
        let of_one = InstallSource::Git {
            url: "https://example.org/p.git".to_owned(),
            revision: Some("v1".to_owned()),
            subdirectory: Some("plugins/lint".to_owned()),
            is_relative: false,
        };
        assert_eq!(parse("https://example.org/p.git#v1:plugins/lint"), of_one);
        assert_eq!(of_one.recorded(&root.join("project")), "https://example.org/p.git#v1:plugins/lint");
        assert_eq!(parse("git+../p#:lint").recorded(&root.join("project")), "git+../p#:lint");
        for bad in [
            "https://example.org/p#v1:../up",
            "https://example.org/p#v1:/up",
            "https://example.org/p.tar.gz",
            "https://example.org/p.tar.gz#v1",
            "no/such.tar.gz",
            "oci://host",
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
