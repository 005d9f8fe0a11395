//! What a manifest promises, held against the plugin's files.

use std::{fs, io::Read as _, os::unix::fs::PermissionsExt as _, path::Path};

use super::{Capability, Kind, MANIFEST_FILE, Manifest, ManifestProblem, PluginError};
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
    let mut checking = Checking { directory, manifest: &manifest, list: Vec::new() };
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
            if manifest.kind == Kind::Skill
                && let Some(fault) = script_fault(&self.directory.join(&binding.handler))
            {
                self.refuse(place, key, ManifestProblem::BadFile { path: binding.handler.clone(), fault });
            }
        }
        if let Some(module) = &manifest.module
            && let Some(fault) = module_fault(&self.directory.join(module))
        {
            let problem = ManifestProblem::BadFile { path: module.clone(), fault };
            self.refuse(self.place_of("wasm.module"), "wasm.module", problem);
        }
        for (number, profile) in manifest.profiles.iter().enumerate() {
            let Some(templates) = &profile.templates else { continue };
            if !self.directory.join(templates).is_dir() {
                let key = format!("methodology[{number}].templates");
                let problem = ManifestProblem::BadFile { path: templates.clone(), fault: "is no directory" };
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
        && matches!(manifest.kind, Kind::Skill | Kind::Oci)
        && !manifest.capabilities.has(Capability::Exec)
}

/// Returns what keeps a script from being run.
fn script_fault(path: &Path) -> Option<&'static str> {
    match fs::metadata(path) {
        Err(_) => Some("does not exist"),
        Ok(metadata) if !metadata.is_file() => Some("is no file"),
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => {
            Some("is not executable; run chmod +x on it")
        }
        Ok(_) => None,
    }
}

fn module_fault(path: &Path) -> Option<&'static str> {
    let mut magic = [0; WASM_MAGIC.len()];
    match open_anywhere(path) {
        Err(FileError::NotAFile { .. }) => Some("is no file"),
        Err(_) => Some("does not exist; build it with `samuel plugin build`"),
        Ok(mut file) => match file.read_exact(&mut magic) {
            Ok(()) if magic == WASM_MAGIC => None,
            _ => Some("is no WebAssembly"),
        },
    }
}
