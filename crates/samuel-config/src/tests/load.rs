//! Reading samuel.toml from a project.

use std::fs;

use samuel_model::{Coded, ErrorCode};

use super::super::*;

/// A project directory whose samuel.toml has these bytes.
fn project(bytes: &[u8]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("samuel.toml"), bytes).unwrap();
    directory
}

#[test]
fn a_project_without_the_file_has_the_defaults() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(Config::load(directory.path()).unwrap(), Config::default());
}

#[test]
fn a_project_is_configured_by_its_file() {
    let directory = project(b"\xef\xbb\xbf[methodology.ralph]\r\nmax_iterations = 3\r\n");
    let config = Config::load(directory.path()).unwrap();
    assert_eq!(config.methodology("ralph").max_iterations, std::num::NonZero::new(3));
    let origin = config.origin("methodology.ralph.max_iterations").unwrap();
    assert_eq!((origin.file, origin.line, origin.column), (directory.path().join("samuel.toml"), 2, 1));
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_not_an_absent_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("samuel.toml");
    fs::create_dir(&file).unwrap();
    let error = Config::load(directory.path()).expect_err("a directory");
    assert_eq!(error.code(), ErrorCode::CONFIG_IO);
    assert_eq!(error.location().unwrap().file, file);
    fs::remove_dir(&file).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", &file).unwrap();
        assert_eq!(Config::load(directory.path()).expect_err("a broken link").code(), ErrorCode::CONFIG_IO);
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/null", &file).unwrap();
        assert_eq!(Config::load(directory.path()).expect_err("a device").code(), ErrorCode::CONFIG_IO);
    }
}

#[test]
fn a_file_that_is_no_text_or_too_large_is_refused() {
    let error = Config::load(project(b"a = 1\nb = \"\xff\"").path()).expect_err("not UTF-8");
    let place = error.location().unwrap();
    assert_eq!(
        (error.problems()[0].kind.clone(), place.line, place.column),
        (ProblemKind::NotUtf8, Some(2), Some(6))
    );
    for filler in ["#", "é"] {
        let text = format!("#{}", filler.repeat(Config::MAX_BYTES));
        let error = Config::load(project(text.as_bytes()).path()).expect_err("too large");
        assert_eq!(error.problems()[0].kind, ProblemKind::TooLarge { max_bytes: Config::MAX_BYTES });
    }
    let fits = format!("#{}", "x".repeat(Config::MAX_BYTES - 1));
    assert!(Config::load(project(fits.as_bytes()).path()).is_ok());
}
