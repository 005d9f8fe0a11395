//! Plugins as archives: `<name>-<version>.tar.gz`, packed and unpacked.
//!
//! An archive has one directory at its top, in it the files that belong to the plugin and `SHA256SUMS`, the
//! digest of each, as `sha256sum -c` reads them. The same files make the same bytes, and what was packed is read
//! again before anybody gets it. What is unpacked is held against these digests, lies in memory first, and has nothing
//! in it but files at paths within the plugin: no link, no device, no path that leads out.

use std::{
    collections::BTreeMap,
    fs::DirBuilder,
    io::{self, Read as _, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Component, Path, PathBuf, absolute},
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use semver::Version;
use serde::Serialize;
use tar::{Archive, Builder, EntryType, Header};

use super::{
    FetchOptions, MANIFEST_FILE, MAX_BYTES, MAX_FILES, Manifest, PluginError, contents::Contents,
    install::selection, validate::validated,
};
use crate::{
    fs::{Manner, Root, private},
    model::digest_of,
};

/// The file with the digests of the others.
pub(super) const SUMS: &str = "SHA256SUMS";

/// What names of archives end with.
const ENDINGS: [&str; 2] = [".tar.gz", ".tgz"];

/// The most bytes of an archive beside what its files hold: a header and padding for each file, the sums.
const MAX_FRAME: u64 = 8 << 20;

/// An archive that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackedPlugin {
    /// The plugin.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The archive; beside it lies the same name with `.sha256`, as `sha256sum -c` reads it.
    pub archive: PathBuf,
    /// `sha256:` and the digest of the archive.
    pub digest: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The files in it, in order.
    pub files: Vec<String>,
    /// Those of them that git leaves out of a commit, because a `.gitignore` covers them: the archive has them all the
    /// same.
    pub ignored: Vec<String>,
    /// What the manifest does not say that a stranger would look for: of `authors`, `license`,
    /// `repository` and `description`, those that are empty.
    pub unsaid: Vec<&'static str>,
}

/// Says whether a path or URL names an archive.
pub(super) fn is_archive(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Packs a plugin that [`validate`](super::validate) accepts into a directory.
///
/// # Errors
/// Returns what [`validate`](super::validate) returns, [`PluginError::Request`] for a file whose name no archive can
/// have and for a directory whose files are the plugin's, and [`PluginError::Io`] where the archive cannot be written.
pub async fn pack(
    directory: &Path,
    into: &Path,
    options: &FetchOptions,
) -> Result<PackedPlugin, PluginError> {
    let (valid, contents) = validated(directory, options).await?;
    let shown = format!("{}-{}.tar.gz", valid.manifest.name, valid.manifest.version);
    check_place(directory, into, &shown, &valid.manifest)?;
    let archive = archive_of(directory, &valid.manifest, &contents)?;
    let valid = valid.packed();
    let Manifest { name, version, .. } = &valid.manifest;
    let digest = digest_of(&archive);
    let file = into.join(&shown);
    let write = |path: &Path, bytes: &[u8]| {
        let written = Root::new(into).write(path, [bytes], &Manner::PROJECT);
        written.map_err(PluginError::file("write", path))
    };
    write(&file, &archive)?;
    let sum = digest.strip_prefix("sha256:").unwrap_or_default();
    write(&into.join(format!("{shown}.sha256")), format!("{sum}  {shown}\n").as_bytes())?;
    Ok(PackedPlugin {
        name: name.clone(),
        version: version.to_string(),
        archive: file,
        digest,
        bytes: archive.len() as u64,
        unsaid: unsaid(&valid.manifest),
        files: valid.files,
        ignored: valid.ignored,
    })
}

/// Refuses a place for an archive that makes it a file of the plugin, so that the next one would hold it.
fn check_place(directory: &Path, into: &Path, name: &str, manifest: &Manifest) -> Result<(), PluginError> {
    let directory = directory.canonicalize().map_err(PluginError::io("read", directory))?;
    let place = absolute(into).map_err(PluginError::io("find", into))?;
    // Of a directory that is still to be made, what is there decides.
    let found = place
        .ancestors()
        .find_map(|there| Some((there.canonicalize().ok()?, place.strip_prefix(there).ok()?)));
    let file = found.map(|(there, rest)| there.join(rest).join(name));
    let inner = file.as_deref().and_then(|file| file.strip_prefix(&directory).ok()).and_then(Path::to_str);
    match inner.filter(|inner| selection(manifest).has(inner)) {
        Some(inner) => Err(PluginError::Request {
            problem: format!(
                "{inner} would be a file of the plugin, and part of its next archive: name a directory outside of it"
            ),
        }),
        None => Ok(()),
    }
}

fn unsaid(manifest: &Manifest) -> Vec<&'static str> {
    let said = [
        ("authors", !manifest.authors.is_empty()),
        ("license", !manifest.license.is_empty()),
        ("repository", !manifest.repository.is_empty()),
        ("description", !manifest.description.is_empty()),
    ];
    said.into_iter().filter(|(_, said)| !said).map(|(key, _)| key).collect()
}

/// Says whether a path within the plugin of a name is an archive of it at its top, or the digest of one, as
/// [`pack`] leaves them there.
pub(super) fn is_own_archive(path: &str, plugin: &str) -> bool {
    let version = path.strip_prefix(plugin).and_then(|rest| rest.strip_prefix('-'));
    let version = version.map(|rest| rest.strip_suffix(".sha256").unwrap_or(rest));
    version.and_then(|rest| rest.strip_suffix(".tar.gz")).is_some_and(|text| text.parse::<Version>().is_ok())
}

/// Makes the archive of a plugin that was read, and reads it again: what is packed can be installed. `directory` is
/// only for messages.
pub(super) fn archive_of(
    directory: &Path,
    manifest: &Manifest,
    contents: &Contents,
) -> Result<Vec<u8>, PluginError> {
    if let Some(path) = contents.tree().paths().find(|path| path.contains(['\n', '\r'])) {
        let problem = format!("\"{}\" cannot be packed: its name has a line break", path.escape_debug());
        return Err(PluginError::Request { problem });
    }
    let top = format!("{}-{}", manifest.name, manifest.version);
    let archive = written(&top, contents).map_err(PluginError::io("pack", directory))?;
    files_of(&archive, &format!("{top}.tar.gz"))?;
    Ok(archive)
}

fn written(top: &str, contents: &Contents) -> io::Result<Vec<u8>> {
    let mut sums = String::new();
    for (path, digest) in contents.tree().digests().iter().filter(|(path, _)| *path != SUMS) {
        sums.push_str(&format!("{}  {path}\n", digest.strip_prefix("sha256:").unwrap_or(digest)));
    }
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    let mut add = |path: &Path, bytes: &[u8], mode| {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        header.set_mtime(0);
        builder.append_data(&mut header, Path::new(top).join(path), bytes)
    };
    add(Path::new(SUMS), sums.as_bytes(), 0o644)?;
    // Those of an archive that the plugin was unpacked from are made anew.
    for file in contents.files().filter(|file| file.path != Path::new(SUMS)) {
        add(file.path, file.bytes, if file.is_executable { 0o755 } else { 0o644 })?;
    }
    let mut packed = builder.into_inner()?;
    packed.flush()?;
    packed.finish()
}

/// A file of an archive.
struct Packed {
    bytes: Vec<u8>,
    is_executable: bool,
}

/// Unpacks an archive into an empty directory, which is not made again where it is gone. `from` is only for messages.
///
/// # Errors
/// Returns [`PluginError::Archive`] for what is no archive of a plugin, [`PluginError::TooLarge`] for more than
/// a plugin may have, [`PluginError::Digest`] for a file that is not what its sum says, and [`PluginError::Io`] where
/// the disk refuses.
pub(super) fn unpack(archive: &[u8], into: &Path, from: &str) -> Result<(), PluginError> {
    for (path, file) in files_of(archive, from)? {
        let to = into.join(&path);
        make_parents(into, &path)?;
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        private::write_new(&to, &file.bytes, mode).map_err(PluginError::io("write", &to))?;
    }
    Ok(())
}

/// Makes the directories that a file lies in, each in the one above it.
fn make_parents(into: &Path, path: &str) -> Result<(), PluginError> {
    for (end, _) in path.match_indices('/') {
        let directory = into.join(path.get(..end).unwrap_or_default());
        match DirBuilder::new().mode(0o755).create(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(PluginError::Io { action: "create", path: directory, source: error });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads the files of an archive, held against the sums that came with them.
fn files_of(archive: &[u8], from: &str) -> Result<BTreeMap<String, Packed>, PluginError> {
    let mut files = below_top(read(archive, from)?);
    if !files.contains_key(MANIFEST_FILE) {
        let problem = format!("it has no {MANIFEST_FILE} at its top");
        return Err(PluginError::Archive { from: from.to_owned(), problem });
    }
    if let Some(sums) = files.remove(SUMS) {
        compare(&files, &String::from_utf8_lossy(&sums.bytes), from)?;
    }
    Ok(files)
}

fn read(archive: &[u8], from: &str) -> Result<BTreeMap<String, Packed>, PluginError> {
    let refused = |problem: String| PluginError::Archive { from: from.to_owned(), problem };
    let broken = |error: io::Error| refused(format!("it cannot be read: {error}"));
    let too_large = PluginError::TooLarge { what: "bytes", limit: MAX_BYTES };
    // What a few bytes unfold to is bounded, whatever its headers say.
    let unfolded = GzDecoder::new(archive).take(MAX_BYTES + MAX_FRAME);
    let mut tar = Archive::new(unfolded);
    let (mut files, mut left) = (BTreeMap::new(), MAX_BYTES);
    for entry in tar.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        let shown = path.display().to_string();
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {}
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            _ => return Err(refused(format!("{shown} is a link, or no file"))),
        }
        let path = inner(&path).ok_or_else(|| refused(format!("{shown} is no path within the plugin")))?;
        if entry.size() > left {
            return Err(too_large);
        }
        if files.len() > MAX_FILES {
            return Err(PluginError::TooLarge { what: "files", limit: MAX_FILES as u64 });
        }
        let is_executable = entry.header().mode().is_ok_and(|mode| mode & 0o111 != 0);
        let mut bytes = Vec::new();
        entry.by_ref().take(left).read_to_end(&mut bytes).map_err(broken)?;
        left -= bytes.len() as u64;
        if files.insert(path, Packed { bytes, is_executable }).is_some() {
            return Err(refused(format!("{shown} is in it twice")));
        }
    }
    Ok(files)
}

/// Returns a path that stays within where it begins, with `/`.
fn inner(path: &Path) -> Option<String> {
    let part = |component| match component {
        Component::Normal(part) => part.to_str(),
        _ => None,
    };
    let parts: Option<Vec<&str>> =
        path.components().filter(|component| *component != Component::CurDir).map(part).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join("/"))
}

/// Takes away the directory that everything lies in, where there is one.
fn below_top(files: BTreeMap<String, Packed>) -> BTreeMap<String, Packed> {
    if files.contains_key(MANIFEST_FILE) {
        return files;
    }
    let top = files.keys().next().and_then(|path| path.split_once('/')).map(|(top, _)| format!("{top}/"));
    match top.filter(|top| files.keys().all(|path| path.starts_with(top.as_str()))) {
        Some(top) => files.into_iter().map(|(path, file)| (path.replacen(&top, "", 1), file)).collect(),
        None => files,
    }
}

/// Holds files against the sums that came with them.
fn compare(files: &BTreeMap<String, Packed>, sums: &str, from: &str) -> Result<(), PluginError> {
    let sums = sums.lines().filter_map(|line| line.split_once("  "));
    let sums: BTreeMap<&str, &str> = sums.map(|(sum, path)| (path, sum)).collect();
    let wrong = |path: &str, expected: &str, found: String| PluginError::Digest {
        from: format!("{from}: {path}"),
        expected: expected.to_owned(),
        found,
    };
    for (path, file) in files {
        let found = digest_of(&file.bytes);
        let expected = sums.get(path.as_str()).map(|sum| format!("sha256:{sum}"));
        match expected {
            Some(expected) if expected == found => {}
            Some(expected) => return Err(wrong(path, &expected, found)),
            None => return Err(wrong(path, "none", found)),
        }
    }
    match sums.keys().find(|path| !files.contains_key(**path)) {
        Some(missing) => Err(wrong(missing, sums.get(missing).unwrap_or(&""), "none".to_owned())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;
    use crate::model::{Coded as _, ErrorCode};

    const MANIFEST: &str = "[plugin]\nname = \"lint\"\nkind = \"skill\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n\
                            [hooks]\n\"quality.check\" = \"check.sh\"\n";

    fn plugin() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(MANIFEST_FILE), MANIFEST).unwrap();
        fs::write(dir.path().join("check.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(dir.path().join("check.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        dir
    }

    fn packed(directory: &Path) -> Result<Vec<u8>, PluginError> {
        let manifest = super::super::check(directory)?;
        archive_of(directory, &manifest, &Contents::read(directory, &selection(&manifest))?)
    }

    /// Makes an archive of entries as they are given, good or bad.
    fn forged(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, kind, bytes) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            // The builder would refuse such a path.
            let name = &mut header.as_old_mut().name;
            name.iter_mut().zip(path.bytes()).for_each(|(to, byte)| *to = byte);
            if *kind == EntryType::Symlink {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            builder.append(&header, *bytes).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    fn refusal(archive: &[u8]) -> (ErrorCode, String) {
        let into = tempfile::tempdir().unwrap();
        let error = unpack(archive, into.path(), "x.tar.gz").unwrap_err();
        assert_eq!(fs::read_dir(into.path()).unwrap().count(), 0, "nothing is written: {error}");
        (error.code(), error.to_string())
    }

    #[test]
    fn what_was_packed_is_what_is_unpacked_and_the_same_files_make_the_same_bytes() {
        let (source, into) = (plugin(), tempfile::tempdir().unwrap());
        let archive = packed(source.path()).unwrap();
        assert_eq!(archive, packed(plugin().path()).unwrap());
        unpack(&archive, into.path(), "x.tar.gz").unwrap();
        let contents = |path: &Path| Contents::read(path, &super::super::Selection::Source).unwrap();
        assert_eq!(contents(into.path()).tree(), contents(source.path()).tree());
    }

    #[test]
    fn an_earlier_archive_and_its_sums_are_no_part_of_the_next() {
        let (source, into) = (plugin(), tempfile::tempdir().unwrap());
        let archive = packed(source.path()).unwrap();
        for name in ["lint-1.0.0.tar.gz", "lint-0.9.0-rc.1.tar.gz", "lint-1.0.0.tar.gz.sha256", SUMS] {
            fs::write(source.path().join(name), "x").unwrap();
        }
        assert_eq!(packed(source.path()).unwrap(), archive, "it is as before");
        // What only looks like one is the plugin's.
        fs::write(source.path().join("lint-data.tar.gz"), "x").unwrap();
        fs::create_dir(source.path().join("data")).unwrap();
        fs::write(source.path().join("data/lint-1.0.0.tar.gz"), "x").unwrap();
        unpack(&packed(source.path()).unwrap(), into.path(), "x.tar.gz").unwrap();
        assert!(
            into.path().join("lint-data.tar.gz").exists()
                && into.path().join("data/lint-1.0.0.tar.gz").exists()
        );
        fs::write(source.path().join("a\nb"), "x").unwrap();
        let error = packed(source.path()).unwrap_err().to_string();
        assert_eq!(error, "\"a\\nb\" cannot be packed: its name has a line break");
    }

    #[tokio::test]
    async fn an_archive_does_not_become_a_file_of_its_plugin() {
        let (source, out) = (plugin(), tempfile::tempdir().unwrap());
        fs::create_dir(source.path().join("dist")).unwrap();
        let options = FetchOptions::default();
        for inner in ["dist", "new/deep"] {
            let error = pack(source.path(), &source.path().join(inner), &options).await.unwrap_err();
            assert!(matches!(error, PluginError::Request { .. }), "{error}");
            let said = format!("{inner}/lint-1.0.0.tar.gz would be a file of the plugin");
            assert!(error.to_string().contains(&said), "{error}");
        }
        let first = pack(source.path(), out.path(), &options).await.unwrap();
        // At the top, and below what is no part of a plugin.
        fs::create_dir(source.path().join("target")).unwrap();
        for into in [source.path().to_owned(), source.path().join("target")] {
            assert_eq!(pack(source.path(), &into, &options).await.unwrap().digest, first.digest);
        }
    }

    #[test]
    fn a_directory_that_is_gone_is_not_made_again() {
        let (source, into) = (plugin(), tempfile::tempdir().unwrap());
        fs::create_dir(source.path().join("a")).unwrap();
        fs::write(source.path().join("a/first.md"), "x").unwrap();
        let archive = packed(source.path()).unwrap();
        let gone = into.path().join("gone");
        assert!(matches!(unpack(&archive, &gone, "x.tar.gz"), Err(PluginError::Io { .. })));
        assert!(!gone.exists());
    }

    #[test]
    fn an_archive_that_leads_out_or_holds_a_link_or_a_file_twice_is_refused() {
        let manifest = ("p/samuel-plugin.toml", EntryType::Regular, MANIFEST.as_bytes());
        for (entry, said) in [
            (("p/../../evil", EntryType::Regular, &b"x"[..]), "no path within"),
            (("/etc/evil", EntryType::Regular, b"x"), "no path within"),
            (("p/link", EntryType::Symlink, b""), "is a link"),
            (("p/pipe", EntryType::Fifo, b""), "is a link"),
            (("p/samuel-plugin.toml", EntryType::Regular, b"x"), "twice"),
        ] {
            let (code, message) = refusal(&forged(&[manifest, entry]));
            assert_eq!(code, ErrorCode::PLUGIN_ARCHIVE, "{message}");
            assert!(message.contains(said), "{message}");
        }
        assert_eq!(refusal(b"no archive at all").0, ErrorCode::PLUGIN_ARCHIVE);
        assert_eq!(refusal(&forged(&[("p/x", EntryType::Regular, b"")])).0, ErrorCode::PLUGIN_ARCHIVE);
    }

    #[test]
    fn files_that_their_sums_are_not_of_and_files_without_one_are_refused() {
        let sum = digest_of(MANIFEST.as_bytes()).replace("sha256:", "");
        let sums = format!("{sum}  samuel-plugin.toml\n");
        let sums = ("p/SHA256SUMS", EntryType::Regular, sums.as_bytes());
        let manifest = ("p/samuel-plugin.toml", EntryType::Regular, MANIFEST.as_bytes());
        let into = tempfile::tempdir().unwrap();
        unpack(&forged(&[sums, manifest]), into.path(), "x").unwrap();
        assert!(!into.path().join(SUMS).exists(), "it is no file of the plugin");
        let other = MANIFEST.replace("1.0.0", "1.0.1");
        let changed = ("p/samuel-plugin.toml", EntryType::Regular, other.as_bytes());
        assert_eq!(refusal(&forged(&[sums, changed])).0, ErrorCode::PLUGIN_DIGEST);
        let more = ("p/more.sh", EntryType::Regular, &b"x"[..]);
        assert_eq!(refusal(&forged(&[sums, manifest, more])).0, ErrorCode::PLUGIN_DIGEST);
    }

    #[test]
    fn a_few_bytes_that_unfold_to_more_than_a_plugin_may_have_are_refused() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let mut header = Header::new_gnu();
        header.set_path("p/large").unwrap();
        header.set_entry_type(EntryType::Regular);
        header.set_size(MAX_BYTES + 1);
        header.set_mode(0o644);
        header.set_cksum();
        encoder.write_all(header.as_bytes()).unwrap();
        let zeros = vec![0; 1 << 20];
        for _ in 0..=(MAX_BYTES >> 20) {
            encoder.write_all(&zeros).unwrap();
        }
        assert_eq!(refusal(&encoder.finish().unwrap()).0, ErrorCode::PLUGIN_SIZE);
    }
}
