//! Runs that samuel.toml keeps from being built: refused at their place there.

use std::{path::Path, sync::Arc};

use samuel_core::{
    clock::SystemClock,
    engine::{Run, RunError},
    hook::{Call, points},
    model::{Coded, ErrorCode, payload::QualityCheckOutput},
    project::{Project, ProjectError},
};

fn open(root: &Path, config: &str) -> Result<Project, ProjectError> {
    std::fs::write(root.join("samuel.toml"), config).unwrap();
    Project::open(root, None, Arc::new(SystemClock::new()))
}

#[test]
fn a_handler_that_is_not_registered_is_refused_where_the_file_names_it() {
    let root = tempfile::tempdir().unwrap();
    let config = "[methodology.ralph]\nagent = \"scripted\"\nagent_command = [\"s.toml\"]\n\n\
                  [methodology.ralph.hooks.\"quality.check\"]\nhandlers = [\"default\", \"api:lnt\"]\n";
    std::fs::write(root.path().join("s.toml"), "").unwrap();
    let error = Run::builder(open(root.path(), config).unwrap())
        .hook::<points::QualityCheck, _>("lint", async |_: Call<points::QualityCheck>| {
            Ok(QualityCheckOutput::default())
        })
        .build()
        .unwrap_err();
    assert!(matches!(error, RunError::Config(_)), "{error:?}");
    assert_eq!(error.code(), ErrorCode::CONFIG_INVALID);
    assert_eq!(error.help(), "Did you mean \"api:lint\"?");
    let place = error.location().unwrap();
    assert_eq!((place.file, place.line, place.column), (root.path().join("samuel.toml"), Some(6), Some(24)));
}

#[test]
fn a_table_of_a_methodology_that_is_not_there_is_refused_when_the_project_is_opened() {
    let root = tempfile::tempdir().unwrap();
    let error = open(root.path(), "version = \"2\"\n[methodology.ralhp]\nmax_iterations = 3\n").unwrap_err();
    assert!(matches!(error, ProjectError::Config(_)), "{error:?}");
    assert_eq!(error.help(), "Did you mean \"ralph\"?");
    assert_eq!(error.location().unwrap().line, Some(2));
    let text = "version = \"2\"\ndefault_methodology = \"ralf\"\n[methodology.ralhp]\n";
    let error = open(root.path(), text).unwrap_err();
    let told = error.to_string();
    for both in ["default_methodology: unknown methodology \"ralf\"", "unknown methodology \"ralhp\""] {
        assert!(told.contains(both), "{told}");
    }
}

#[test]
fn a_program_that_breaks_the_rule_of_a_setting_gets_no_run() {
    let root = tempfile::tempdir().unwrap();
    let project = open(root.path(), "version = \"2\"\n").unwrap();
    let error =
        Run::builder(project).settings(|settings| settings.max_consecutive_failures = 0).build().unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str(), error.location()),
        (
            ErrorCode::CONFIG_INVALID,
            "max_consecutive_failures: 0 is out of range, expected a whole number of at least 1",
            None
        )
    );
    assert_eq!(error.help(), "Change the value, or remove the key.");
}
