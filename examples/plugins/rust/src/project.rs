//! A Python project, as far as an agent should know it.
//!
//! Nothing here talks to the host, so `cargo test` checks it without one.

use serde::Deserialize;

/// What the files of a project say.
#[derive(Debug, Default, PartialEq)]
pub struct Project {
    /// Its name; empty where it has none.
    pub name: String,
    /// The Python it runs with, such as `3.12.1` or `>=3.11`.
    pub version: String,
    /// The directory of the virtual environment; empty where there is none.
    pub venv: String,
    /// What it depends on, such as `requests>=2`.
    pub requirements: Vec<String>,
}

#[derive(Default, Deserialize)]
struct PyProject {
    #[serde(default)]
    project: Table,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Table {
    name: String,
    requires_python: String,
    dependencies: Vec<String>,
}

impl Project {
    /// Reads `pyproject.toml`.
    pub fn from_pyproject(text: &str) -> Result<Self, toml::de::Error> {
        let PyProject { project: Table { name, requires_python, dependencies } } = toml::from_str(text)?;
        Ok(Self { name, version: requires_python, venv: String::new(), requirements: dependencies })
    }

    /// Adds the lines of `requirements.txt` that name a package.
    pub fn add_requirements(&mut self, text: &str) {
        for line in text.lines() {
            let requirement = line.split(" #").next().unwrap_or_default().trim();
            let names_a_package = requirement.starts_with(|first: char| first.is_ascii_alphanumeric());
            if names_a_package && !self.requirements.iter().any(|known| known == requirement) {
                self.requirements.push(requirement.to_owned());
            }
        }
    }

    /// Takes the virtual environment, whose Python is the one that runs.
    pub fn set_venv(&mut self, directory: &str, settings: &str) {
        self.venv = directory.to_owned();
        let setting = |name: &str| {
            let line = settings.lines().filter_map(|line| line.split_once('='));
            line.into_iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
        };
        if let Some(version) = setting("version").or_else(|| setting("version_info")) {
            self.version = version;
        }
    }

    /// Writes the section of the prompt.
    pub fn to_markdown(&self) -> String {
        let mut lines = Vec::new();
        if !self.version.is_empty() {
            lines.push(format!("- Python {}", self.version));
        }
        if !self.venv.is_empty() {
            lines.push(format!("- Run Python as `{}/bin/python`.", self.venv));
        }
        if !self.requirements.is_empty() {
            lines.push(format!("- Requirements: {}", self.requirements.join(", ")));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYPROJECT: &str = "\
        [project]\n\
        name = \"parser\"\n\
        requires-python = \">=3.11\"\n\
        dependencies = [\"requests>=2\"]\n\
        [tool.ruff]\n\
        line-length = 100\n";

    #[test]
    fn requirements_come_from_both_files_and_once() {
        let mut project = Project::from_pyproject(PYPROJECT).unwrap();
        project.add_requirements("# pinned\n-r base.txt\nrequests>=2\nattrs==23.1 # tested\n\n");
        assert_eq!(project.requirements, ["requests>=2", "attrs==23.1"]);
    }

    #[test]
    fn the_python_of_the_environment_is_the_one_that_runs() {
        let mut project = Project::from_pyproject(PYPROJECT).unwrap();
        project.set_venv(".venv", "home = /usr/bin\nversion = 3.12.1\n");
        assert_eq!(
            project.to_markdown(),
            "- Python 3.12.1\n- Run Python as `.venv/bin/python`.\n- Requirements: requests>=2"
        );
    }

    #[test]
    fn a_file_that_is_no_toml_is_an_error() {
        assert!(Project::from_pyproject("[project").is_err());
    }
}
