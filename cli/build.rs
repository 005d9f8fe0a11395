//! Links `samuel` at a fixed address in builds that are optimized a little, such as those of `cargo install`.
//!
//! `samuel` is started for every change of a plan. A program without link-time optimization has three times as many
//! addresses that the loader must fill in, which takes half of its start time. At a fixed address there are hardly any.
//! The price is that the address of the program itself is not random. Published archives do not pay it: link-time
//! optimization removes these addresses there.
#![allow(clippy::disallowed_macros, reason = "cargo reads standard output")]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE")
        .is_ok_and(|found| found.split(',').any(|one| one == "crt-static"));
    let is_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is("OPT_LEVEL", "1") && is_linux && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
