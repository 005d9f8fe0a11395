//! What a manifest promises, held against the plugin's files.

use std::{fs, io::Read as _, os::unix::fs::PermissionsExt as _, path::Path};

use super::{
    Capability, MANIFEST_FILE, Manifest, ManifestProblem, PluginError, PluginKind, contents::Contents,
};
use crate::{
    config::{ConfigError, Origin, Problem, Problems},
    fs::{FileError, open_anywhere},
    hook::HookPoint,
    model::Location,
};

/// What every WebAssembly binary begins with.
const WASM_MAGIC: &[u8] = b"\0asm";

/// Reads the manifest in a directory and looks at the files it names: scripts
/// exist and can be run, a component is one, templates are a directory.
///
/// # Errors
/// Returns what [`Manifest::load`] returns, and [`PluginError::Manifest`] with
/// every file that is not what it must be, each at the place that names it.
pub fn check(directory: &Path) -> Result<Manifest, PluginError> {
    let manifest = Manifest::load(directory)?;
    hold(directory, manifest, &Files::Directory(directory))
}

/// Does the same with files that were read. `directory` is only for messages.
pub(super) fn check_contents(directory: &Path, contents: &Contents) -> Result<Manifest, PluginError> {
    hold(directory, contents.manifest(directory)?, &Files::Read(contents))
}

fn hold(directory: &Path, manifest: Manifest, files: &Files<'_>) -> Result<Manifest, PluginError> {
    let mut checking = Checking { directory, manifest: &manifest, files, list: Vec::new() };
    checking.look();
    let list = checking.list;
    match list.is_empty() {
        true => Ok(manifest),
        false => Err(ConfigError::Invalid(Problems { list, omitted: 0 }).into()),
    }
}

/// A check under way.
struct Checking<'a> {
    directory: &'a Path,
    manifest: &'a Manifest,
    files: &'a Files<'a>,
    list: Vec<Problem>,
}

impl Checking<'_> {
    fn look(&mut self) {
        let manifest = self.manifest;
        for binding in &manifest.bindings {
            let place = binding.place.clone();
            let key = binding.point.as_str();
            if needs_exec(manifest, binding.point) {
                self.refuse(place.clone(), key, ManifestProblem::AgentWithoutExec);
            }
            if manifest.kind == PluginKind::Skill
                && let Some(fault) = self.files.script_fault(&binding.handler)
            {
                self.refuse(place, key, ManifestProblem::BadFile { path: binding.handler.clone(), fault });
            }
        }
        if let Some(module) = &manifest.module
            && let Some(fault) = self.files.module_fault(module)
        {
            let path = module.clone();
            let problem = match fault {
                MISSING => ManifestProblem::NoModule { path },
                fault => ManifestProblem::BadFile { path, fault },
            };
            self.refuse(self.place_of("wasm.module"), "wasm.module", problem);
        }
        for (number, profile) in manifest.profiles.iter().enumerate() {
            let Some(templates) = &profile.templates else { continue };
            if !self.files.has_directory(templates) {
                let key = format!("methodology[{number}].templates");
                let problem =
                    ManifestProblem::BadFile { path: templates.clone(), fault: "is not a directory" };
                self.refuse(self.place_of(&key), &key, problem);
            }
        }
    }

    fn refuse(&mut self, location: Location, key: &str, problem: ManifestProblem) {
        if self.list.len() < Problems::MAX {
            self.list.push(Problem { location, key: key.to_owned(), kind: problem.into() });
        }
    }

    fn place_of(&self, key: &str) -> Location {
        let whole = || Origin { file: self.directory.join(MANIFEST_FILE), line: 1, column: 1 };
        self.manifest.origins.get(key).unwrap_or_else(whole).into()
    }
}

/// Says whether a handler of a point runs a program that the plugin did not ask
/// for. A component has no program but through the host, which checks each.
pub(super) fn needs_exec(manifest: &Manifest, point: HookPoint) -> bool {
    point == HookPoint::AgentInvoke
        && matches!(manifest.kind, PluginKind::Skill | PluginKind::Oci)
        && !manifest.capabilities.has(Capability::Exec)
}

/// Where the files are that a manifest names.
enum Files<'a> {
    /// In a directory.
    Directory(&'a Path),
    /// In memory.
    Read(&'a Contents),
}

const MISSING: &str = "does not exist";
const NO_FILE: &str = "is not a file";
const NOT_EXECUTABLE: &str = "is not executable; run chmod +x on it";
const NO_WASM: &str = "is not WebAssembly";

impl Files<'_> {
    /// Returns what keeps a script from being run.
    fn script_fault(&self, path: &str) -> Option<&'static str> {
        let directory = match self {
            Self::Directory(directory) => directory,
            Self::Read(contents) => {
                return match contents.tree().is_executable(path) {
                    Some(true) => None,
                    Some(false) => Some(NOT_EXECUTABLE),
                    None if contents.has_directory(path) => Some(NO_FILE),
                    None => Some(MISSING),
                };
            }
        };
        match fs::metadata(directory.join(path)) {
            Err(_) => Some(MISSING),
            Ok(metadata) if !metadata.is_file() => Some(NO_FILE),
            Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => Some(NOT_EXECUTABLE),
            Ok(_) => None,
        }
    }

    fn module_fault(&self, path: &str) -> Option<&'static str> {
        let mut magic = [0; WASM_MAGIC.len()];
        match self {
            Self::Directory(directory) => match open_anywhere(&directory.join(path)) {
                Err(FileError::NotAFile { .. }) => Some(NO_FILE),
                Err(_) => Some(MISSING),
                Ok(mut file) => match file.read_exact(&mut magic) {
                    Ok(()) if magic == WASM_MAGIC => None,
                    _ => Some(NO_WASM),
                },
            },
            Self::Read(contents) => match contents.get(path) {
                None => Some(MISSING),
                Some(bytes) => (!bytes.starts_with(WASM_MAGIC)).then_some(NO_WASM),
            },
        }
    }

    fn has_directory(&self, path: &str) -> bool {
        match self {
            Self::Directory(directory) => directory.join(path).is_dir(),
            Self::Read(contents) => contents.has_directory(path),
        }
    }
}
