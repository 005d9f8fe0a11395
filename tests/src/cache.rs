//! What tests fetch from the network, kept outside the repository.
//!
//! [`once`] fills a directory of the cache and finds it there the next time. The
//! cache is `$SAMUEL_TEST_CACHE`, else `/var/cache/samuel-tests`, else
//! `target/samuel-tests`. A lock lets several test processes share it.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// How packages are installed from npm.
pub const NPM_INSTALL: [&str; 6] =
    ["install", "--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries", "1"];

/// Returns a directory of the cache, filling it first where it is not complete.
///
/// # Errors
/// Returns why it cannot be filled, as a sentence for the `skipped:` line of a
/// test.
pub fn once(name: &str, fill: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    let _lock = lock("lock")?;
    let home = directory().map_err(|error| format!("no cache directory: {error}"))?.join(name);
    if home.join("complete").exists() {
        return Ok(home);
    }
    // What an interrupted installation left is of no use.
    let _ = fs::remove_dir_all(&home);
    let made = fs::create_dir_all(&home);
    made.map_err(|error| format!("the cache: {error}"))?;
    fill(&home)?;
    File::create(home.join("complete")).map_err(|error| format!("the cache: {error}"))?;
    Ok(home)
}

/// Waits for a lock of the cache, and holds it until the file is dropped.
///
/// # Errors
/// Returns why there is none, as a sentence for the `skipped:` line of a test.
pub fn lock(name: &str) -> Result<File, String> {
    let cache = directory().map_err(|error| format!("no cache directory: {error}"))?;
    let lock = File::create(cache.join(name)).map_err(|error| format!("no lock in the cache: {error}"))?;
    lock.lock().map_err(|error| format!("the lock of the cache: {error}"))?;
    Ok(lock)
}

/// Runs a command to its end, without a terminal.
///
/// # Errors
/// Returns what it said where it fails. `what` names it.
pub fn run(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{what}: {} cannot be run: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_reason = |line: &&str| line.contains("error") || line.contains("ERR");
    Err(format!("{what}: {}", errors.lines().find(is_reason).unwrap_or("no reason given").trim()))
}

/// Returns the first directory that can be written to.
fn directory() -> io::Result<PathBuf> {
    let named = env::var_os("SAMUEL_TEST_CACHE").map(PathBuf::from);
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/samuel-tests");
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for directory in named.into_iter().chain(["/var/cache/samuel-tests".into(), build]) {
        match fs::create_dir_all(&directory).and_then(|()| File::create(directory.join("lock"))) {
            Ok(_) => return directory.canonicalize(),
            Err(error) => last = error,
        }
    }
    Err(last)
}
