//! Tells agents of a Python project.
//!
//! At `context.extra` it reads `pyproject.toml`, `requirements.txt` and the
//! virtual environment, contributes what it found as `.Plugins.python`, and adds a
//! section to the prompt. A project without any of them is left alone.

mod project;

use samuel_plugin::{
    CallHeader, ContextExtra, ContextExtraInput, ContextExtraOutput, Extra, HookFailure, HostError, files,
    log, plugins,
};

use project::Project;

struct Python;

impl ContextExtra for Python {
    fn context_extra(
        _: CallHeader,
        _: ContextExtraInput,
        _: Option<ContextExtraOutput>,
    ) -> Result<ContextExtraOutput, HookFailure> {
        let Some(project) = read()? else {
            log::debug("no Python project");
            return Ok(ContextExtraOutput::default());
        };
        plugins::contribute("Name", &project.name)?;
        plugins::contribute("Version", &project.version)?;
        plugins::contribute("Venv", &project.venv)?;
        plugins::contribute("Requirements", &project.requirements)?;
        let section = Extra { name: "Python".into(), content: project.to_markdown(), path: None };
        Ok(ContextExtraOutput { extras: vec![section], ..Default::default() })
    }
}

/// Reads the files that describe a project; nothing where there are none.
fn read() -> Result<Option<Project>, HookFailure> {
    let pyproject = files::read_text_if_there("pyproject.toml")?;
    let requirements = files::read_text_if_there("requirements.txt")?;
    let venv = find_venv()?;
    if pyproject.is_none() && requirements.is_none() && venv.is_none() {
        return Ok(None);
    }
    let mut project = Project::from_pyproject(pyproject.as_deref().unwrap_or_default())?;
    project.add_requirements(requirements.as_deref().unwrap_or_default());
    if let Some((directory, settings)) = venv {
        project.set_venv(directory, &settings);
    }
    Ok(Some(project))
}

/// Returns the directory of the virtual environment and its settings.
fn find_venv() -> Result<Option<(&'static str, String)>, HostError> {
    for directory in [".venv", "venv"] {
        if let Some(settings) = files::read_text_if_there(&format!("{directory}/pyvenv.cfg"))? {
            return Ok(Some((directory, settings)));
        }
    }
    Ok(None)
}

samuel_plugin::export!(Python: ContextExtra);
