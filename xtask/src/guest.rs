//! `guest`: the first process of containers, built so that it runs in an image that holds nothing else.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};

use crate::workspace;

/// The target, whose C library can be linked statically.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the guest, and says where it is.
pub(crate) fn run(args: &[String]) -> Result<()> {
    if let Some(unknown) = args.first() {
        bail!("`guest` takes no argument, such as {unknown}");
    }
    println!("{}", build()?.display());
    Ok(())
}

/// Builds the guest, and returns its path.
pub(crate) fn build() -> Result<PathBuf> {
    let build = ["build", "--locked", "--package", "samuel-guest", "--profile", "guest", "--target", TARGET];
    let mut build = workspace::cargo(&build);
    let status = workspace::finish("cargo build", build.env("RUSTFLAGS", "-C target-feature=+crt-static"))?;
    ensure!(status.success(), "the guest cannot be built");
    Ok(workspace::target().join(TARGET).join("guest/samuel-guest"))
}
