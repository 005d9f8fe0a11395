//! `samuel plugin new`: the directory of a plugin that works from the start.
//!
//! The templates are files beside this one. Each makes a plugin that handles one point, or a methodology, and can be
//! built, checked, tried and installed as it is; what stands in its handler is `first_handler`'s.

use std::{
    fmt, fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::Serialize;

use super::{
    MANIFEST_FILE, PluginError, PluginKind, check_plugin_name, first_handler::Handler, sdk::sdk_files,
};
use crate::{
    config::check_methodology_name,
    hook::HookPoint,
    methodology::{
        built_in, is_called,
        ralph::templates::{DISCOVERY_PROMPT, PROMPT},
    },
};

/// The language a plugin is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PluginLanguage {
    /// Rust, with the crate samuel-plugin.
    Rust,
    /// Python.
    Python,
    /// JavaScript.
    JavaScript,
    /// A POSIX shell.
    #[serde(rename = "sh")]
    Shell,
}

impl PluginLanguage {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rust, Self::Python, Self::JavaScript, Self::Shell];

    /// Returns its name in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::Shell => "sh",
        }
    }
}

impl fmt::Display for PluginLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for PluginLanguage {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|language| language.as_str() == name);
        found.ok_or_else(|| format!("unknown language \"{name}\"; use rust, python, javascript or sh"))
    }
}

/// Where the crate samuel-plugin comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SdkSource {
    /// The plugin's own directory `sdk`, which holds the crate of this Samuel.
    #[default]
    Carried,
    /// The registry, by a requirement such as `2.0`.
    Registry(String),
    /// A directory.
    Path(PathBuf),
    /// A git repository.
    Git(String),
}

impl SdkSource {
    /// Writes it as the dependency in Cargo.toml.
    fn dependency(&self) -> String {
        let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
        match self {
            Self::Carried => "{ path = \"sdk\" }".to_owned(),
            Self::Registry(version) => text(version),
            Self::Path(path) => format!("{{ path = {} }}", text(&path.display().to_string())),
            Self::Git(url) => format!("{{ git = {} }}", text(url)),
        }
    }
}

/// A plugin to be made.
#[derive(Clone, Debug)]
pub struct NewPlugin {
    /// Its name.
    pub name: String,
    /// What it is made of.
    pub kind: PluginKind,
    /// The language; by default Rust, for scripts and images Python. A methodology has none.
    pub language: Option<PluginLanguage>,
    /// The point that it handles; of no meaning for a methodology.
    pub point: HookPoint,
    /// Where a plugin in Rust takes its crate from.
    pub sdk: SdkSource,
}

/// A plugin that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scaffolded {
    /// Its directory.
    pub directory: PathBuf,
    /// What it is made of.
    pub kind: PluginKind,
    /// The language; none of a methodology.
    pub language: Option<PluginLanguage>,
    /// The files that were written, relative to the directory, in order.
    pub files: Vec<String>,
}

/// Makes the files of a new plugin in a directory that is new or empty; one
/// that holds nothing but version control counts as empty.
///
/// # Errors
/// Returns [`PluginError::BadName`] for what cannot be a name, [`PluginError::Request`] for what cannot be one of a
/// methodology and for a language that does not go with the kind, [`PluginError::NotEmpty`] for a directory that holds
/// something, and [`PluginError::Io`] where it cannot be written.
pub fn scaffold(directory: &Path, plugin: &NewPlugin) -> Result<Scaffolded, PluginError> {
    let refused = |problem: String| PluginError::Request { problem };
    let NewPlugin { name, kind, .. } = plugin;
    check_plugin_name(name)?;
    let (language, files) = match (kind, plugin.language) {
        (PluginKind::Methodology, Some(_)) => {
            return Err(refused("a methodology is written in no language".to_owned()));
        }
        (PluginKind::Methodology, None) => {
            check_methodology_name(name).map_err(|error| refused(error.to_string()))?;
            if is_called(&*built_in(), name) {
                return Err(refused(format!("the methodology that is built in is called {name}")));
            }
            (None, methodology())
        }
        (PluginKind::Wasm | PluginKind::Oci, Some(PluginLanguage::Shell)) => {
            return Err(refused("a plugin in sh is of kind skill".to_owned()));
        }
        (PluginKind::Wasm, language) => {
            let language = language.unwrap_or(PluginLanguage::Rust);
            (Some(language), component(language, &plugin.sdk))
        }
        (PluginKind::Skill, Some(PluginLanguage::Rust)) => {
            return Err(refused(
                "a plugin of kind skill is made in sh, python or javascript; for rust there are wasm and oci"
                    .to_owned(),
            ));
        }
        (PluginKind::Oci, Some(PluginLanguage::JavaScript)) => {
            return Err(refused("a plugin of kind oci is made in rust or python".to_owned()));
        }
        (PluginKind::Skill, language) => {
            let language = language.unwrap_or(PluginLanguage::Python);
            (Some(language), skill(language))
        }
        (PluginKind::Oci, language) => {
            let language = language.unwrap_or(PluginLanguage::Python);
            (Some(language), image(language))
        }
    };
    let fill = language.map_or_else(|| Fill::of_methodology(name), |language| Fill::of(plugin, language));
    require_empty(directory)?;
    for file in &files {
        file.write(directory, &fill)?;
    }
    let files = files.iter().map(|file| fill.apply(file.path)).collect();
    Ok(Scaffolded { directory: directory.to_owned(), kind: *kind, language, files })
}

fn require_empty(directory: &Path) -> Result<(), PluginError> {
    fs::create_dir_all(directory).map_err(PluginError::io("create", directory))?;
    let entries = fs::read_dir(directory).map_err(PluginError::io("read", directory))?;
    match entries.flatten().any(|entry| entry.file_name() != ".git") {
        true => Err(PluginError::NotEmpty { directory: directory.to_owned() }),
        false => Ok(()),
    }
}

/// What stands in the templates for what differs.
struct Fill(Vec<(&'static str, String)>);

impl Fill {
    fn of(plugin: &NewPlugin, language: PluginLanguage) -> Self {
        let handler = Handler::of(plugin.point);
        let ending = match language {
            PluginLanguage::JavaScript => "mjs",
            PluginLanguage::Shell => "sh",
            _ => "py",
        };
        // What is filled in has marks of its own.
        Self(vec![
            ("{{handler}}", handler.text(plugin.kind, language)),
            ("{{about}}", handler.about()),
            ("{{capabilities}}", handler.capabilities(plugin.kind).to_owned()),
            ("{{answer}}", handler.answer(plugin.kind, language)),
            ("{{types}}", handler.types()),
            ("{{imports}}", handler.python_imports()),
            ("{{shared}}", handler.python_shared()),
            ("{{point}}", plugin.point.to_string()),
            ("{{interface}}", handler.interface.clone()),
            ("{{snake}}", handler.snake()),
            ("{{camel}}", handler.camel()),
            ("{{trait}}", handler.name.clone()),
            ("{{name}}", plugin.name.clone()),
            ("{{sdk}}", plugin.sdk.dependency()),
            ("{{script}}", format!("{}.{ending}", handler.interface)),
        ])
    }

    fn of_methodology(name: &str) -> Self {
        Self(vec![("{{name}}", name.to_owned())])
    }

    fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (mark, value)| text.replace(mark, value))
    }
}

/// A file of a new plugin.
struct Template {
    path: &'static str,
    text: &'static str,
    mode: u32,
}

impl Template {
    const fn new(path: &'static str, text: &'static str) -> Self {
        Self { path, text, mode: 0o644 }
    }

    const fn script(path: &'static str, text: &'static str) -> Self {
        Self { path, text, mode: 0o755 }
    }

    fn write(&self, directory: &Path, fill: &Fill) -> Result<(), PluginError> {
        let path = directory.join(fill.apply(self.path));
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            let mut file = fs::File::create_new(&path)?;
            file.write_all(fill.apply(self.text).as_bytes())?;
            file.set_permissions(fs::Permissions::from_mode(self.mode))
        };
        write().map_err(PluginError::io("write", &path))
    }
}

/// Takes the text of a template.
macro_rules! template {
    ($name:literal) => {
        include_str!(concat!("scaffold/", $name, ".tmpl"))
    };
}

fn component(language: PluginLanguage, sdk: &SdkSource) -> Vec<Template> {
    let mut files = vec![Template::new(MANIFEST_FILE, template!("manifest-wasm"))];
    files.extend(match language {
        PluginLanguage::Rust => [
            Template::new("Cargo.toml", template!("rust/Cargo.toml")),
            Template::new("src/lib.rs", template!("rust/lib.rs")),
            Template::new("README.md", template!("rust/README.md")),
            Template::new(".gitignore", template!("rust/gitignore")),
        ],
        PluginLanguage::Python => [
            Template::new("app.py", template!("python/app.py")),
            Template::new("README.md", template!("python/README.md")),
            Template::new(".gitignore", template!("python/gitignore")),
            Template::new("wit/plugin.wit", template!("plugin.wit")),
        ],
        // A shell is no language of components.
        PluginLanguage::JavaScript | PluginLanguage::Shell => [
            Template::new("app.js", template!("javascript/app.js")),
            Template::new("README.md", template!("javascript/README.md")),
            Template::new(".gitignore", template!("javascript/gitignore")),
            Template::new("wit/plugin.wit", template!("plugin.wit")),
        ],
    });
    if language != PluginLanguage::Rust || *sdk == SdkSource::Carried {
        files.extend(sdk_files(language).into_iter().map(|(path, text)| Template::new(path, text)));
    }
    files
}

fn skill(language: PluginLanguage) -> Vec<Template> {
    vec![
        Template::new(MANIFEST_FILE, template!("manifest-skill")),
        Template::script("hooks/{{script}}", script(language)),
        Template::new("README.md", template!("script/README.md")),
    ]
}

fn image(language: PluginLanguage) -> Vec<Template> {
    let mut files = vec![Template::new(MANIFEST_FILE, template!("manifest-oci"))];
    files.extend(match language {
        PluginLanguage::Rust => vec![
            Template::new("Containerfile", template!("oci/Containerfile-rust")),
            Template::new("Cargo.toml", template!("oci/Cargo.toml")),
            Template::new(".cargo/config.toml", template!("oci/cargo-config.toml")),
            Template::new("src/main.rs", template!("oci/main.rs")),
            Template::new("README.md", template!("oci/README-rust.md")),
            Template::new(".gitignore", template!("oci/gitignore-rust")),
        ],
        _ => vec![
            Template::new("Containerfile", template!("oci/Containerfile-python")),
            Template::new("plugin.py", template!("oci/plugin.py")),
            Template::new("README.md", template!("oci/README-python.md")),
            Template::new(".gitignore", template!("oci/gitignore-python")),
        ],
    });
    files
}

/// A methodology begins with the prompts that are built in.
fn methodology() -> Vec<Template> {
    vec![
        Template::new(MANIFEST_FILE, template!("manifest-methodology")),
        Template::new("templates/prompt.md.tmpl", PROMPT),
        Template::new("templates/discovery-prompt.md.tmpl", DISCOVERY_PROMPT),
        Template::new("README.md", template!("methodology/README.md")),
    ]
}

fn script(language: PluginLanguage) -> &'static str {
    match language {
        PluginLanguage::JavaScript => template!("script/javascript"),
        PluginLanguage::Shell => template!("script/sh"),
        _ => template!("script/python"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::plugin::{Manifest, check::needs_exec};

    #[test]
    fn a_program_in_the_agents_place_asks_for_what_it_needs() {
        let dir = tempfile::tempdir().unwrap();
        for (kind, point) in [
            (PluginKind::Skill, HookPoint::AgentInvoke),
            (PluginKind::Oci, HookPoint::AgentInvoke),
            (PluginKind::Skill, HookPoint::QualityCheck),
            (PluginKind::Oci, HookPoint::QualityCheck),
        ] {
            let name = format!("{kind}-{}", point.as_str().replace('.', "-"));
            let plugin =
                NewPlugin { name: name.clone(), kind, language: None, point, sdk: SdkSource::Carried };
            let place = dir.path().join(name);
            scaffold(&place, &plugin).unwrap();
            let manifest = Manifest::load(&place).unwrap();
            assert!(!needs_exec(&manifest, point), "{kind} at {point}");
            let asks = !manifest.capabilities.is_empty();
            assert_eq!(asks, point == HookPoint::AgentInvoke, "{kind} at {point}");
        }
    }

    #[test]
    fn a_name_or_language_that_does_not_go_is_refused_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, kind, language| {
            let plugin = NewPlugin {
                point: HookPoint::ContextExtra,
                name: name.to_owned(),
                kind,
                language,
                sdk: SdkSource::Carried,
            };
            scaffold(&dir.path().join("new"), &plugin)
        };
        for name in ["x", "1st", "Name", "a/b", "end-", "-x", "api"] {
            assert!(check_plugin_name(name).is_err(), "a manifest has it: {name}");
            assert!(matches!(make(name, PluginKind::Wasm, None), Err(PluginError::BadName { .. })), "{name}");
        }
        assert!(matches!(
            make("a-b", PluginKind::Skill, Some(PluginLanguage::Rust)),
            Err(PluginError::Request { .. })
        ));
        let sh = Some(PluginLanguage::Shell);
        assert!(matches!(make("a-b", PluginKind::Methodology, sh), Err(PluginError::Request { .. })));
        // A command is called so, and the built-in one.
        for taken in ["status", "rw"] {
            let refused = make(taken, PluginKind::Methodology, None);
            assert!(matches!(refused, Err(PluginError::Request { .. })), "{taken}: {refused:?}");
        }
        let odd = NewPlugin {
            name: "a--1".to_owned(),
            kind: PluginKind::Wasm,
            language: None,
            point: HookPoint::ContextExtra,
            sdk: SdkSource::Carried,
        };
        assert!(scaffold(&dir.path().join("odd"), &odd).is_ok(), "a manifest has it");
        assert!(make("a-b", PluginKind::Skill, None).is_ok());
        assert!(matches!(make("a-b", PluginKind::Skill, None), Err(PluginError::NotEmpty { .. })));
    }
}
