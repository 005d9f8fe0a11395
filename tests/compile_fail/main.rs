//! What the compiler refuses, and in which words.
//!
//! Each file of `cases/` makes one mistake; the file beside it is what
//! the compiler says. After a change of wording:
//! `TRYBUILD=overwrite cargo test -p samuel-compile-fail`.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{env, process::Command};

/// Flags of the compiler that come before those that trybuild names. It names others for the dependencies than for the cases,
/// and cargo would check all of them once more for these.
const FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";

// Takes about 98 s the first time, in which cargo checks all dependencies for it, and 3 s after that.
#[test]
fn mistakes_do_not_compile_and_the_compiler_says_what_to_do() {
    if env::var_os(FLAGS).is_some() {
        return trybuild::TestCases::new().compile_fail("cases/*.rs");
    }
    let flags =
        ["--cfg", "trybuild", "--verbose", "-A", "dead_code", "--diagnostic-width=140"].join("\u{1f}");
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(["--nocapture", "--test-threads=1"]).env(FLAGS, flags);
    assert!(again.status().unwrap().success());
}
