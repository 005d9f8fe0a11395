//! Plugins with names that are options, or Samuel's own, and a samuel.lock that
//! does not fit.

use std::fs;

use crate::attacks::kit::{PASSES, Ran, Target};

/// Names that no plugin has.
const NAMES: [&str; 11] =
    ["-x", "--help", "--yes", "-", "api", "default", "repo", "samuel", "samuel-default", "session", "../up"];

/// Writes a plugin beside the project.
fn source(target: &Target, name: &str) {
    target.plugin("../source", name, "quality.check", PASSES);
}

/// Makes sure that a command refuses a name, and says which.
fn refused(ran: &Ran, name: &str, place: &str) {
    let text = ran.text();
    assert!(!ran.hung && ran.code.is_some_and(|code| code != 0), "{name}: {text}");
    assert!(text.contains(&format!("\"{name}\"")) && text.contains(place), "{name}: {text}");
}

#[test]
fn a_name_is_refused_wherever_it_enters() {
    for name in NAMES {
        let target = Target::new();
        source(&target, name);
        refused(&target.run(&["plugin", "validate", "../source"]), name, "samuel-plugin.toml:2:");
        refused(&target.run(&["install", "--yes", "../source"]), name, "samuel-plugin.toml:2:");
        assert!(!target.path("samuel.lock").exists(), "{name}");
        for verb in ["info", "uninstall", "verify"] {
            refused(&target.run(&[verb, "--", name]), name, "cannot be the name of a plugin");
        }
        refused(&target.run(&["plugin", "new", "--", name]), name, "cannot be the name of a plugin");

        target.write("samuel.toml", format!("[[plugins]]\nname = \"{name}\"\n"));
        refused(&target.run(&["run", "status"]), name, "samuel.toml:2:");
        fs::remove_file(target.path("samuel.toml")).unwrap();
    }
}

#[test]
fn a_name_in_samuel_lock_is_refused_with_its_place() {
    for name in NAMES {
        let target = Target::new();
        source(&target, "lint");
        target.ok(&["install", "--yes", "../source"]);
        let lock = target.read("samuel.lock");
        target.write("samuel.lock", lock.replace("name = \"lint\"", &format!("name = \"{name}\"")));
        fs::rename(
            target.path(".samuel/plugins/lint"),
            target.path(".samuel/plugins").join(name.replace('/', "_")),
        )
        .unwrap();
        refused(&target.run(&["verify"]), name, "samuel.lock:");
        refused(&target.run(&["ls"]), name, "samuel.lock:");
    }
}

#[test]
fn verify_compares_what_samuel_lock_says_of_a_plugin_as_a_whole() {
    let target = Target::new();
    source(&target, "lint");
    target.ok(&["install", "--yes", "../source"]);
    let lock = target.read("samuel.lock");
    let digest = lock.lines().find(|line| line.starts_with("digest")).unwrap();
    for (from, to, told) in [
        (digest, "digest = \"sha256:00\"", "samuel.lock says \"sha256:00\", the files say \"sha256:"),
        ("version = \"1.0.0\"", "version = \"2.0.0\"", "samuel.lock says \"2.0.0\", the files say \"1.0.0\""),
        ("kind = \"skill\"", "kind = \"wasm\"", "samuel.lock says \"wasm\", the files say \"skill\""),
        ("[plugin.files]", "[plugin.granted]\nexec = [\"sh\"]\n[plugin.files]", "grants exec"),
    ] {
        assert!(lock.contains(from), "{lock}");
        target.write("samuel.lock", lock.replacen(from, to, 1));
        for command in [&["verify"][..], &["hooks", "show", "quality.check"]] {
            let ran = target.run(command);
            assert!(
                ran.code.is_some_and(|code| code != 0) && ran.text().contains(told),
                "{to}: {}",
                ran.text()
            );
        }
    }
    target.write("samuel.lock", lock);
    target.ok(&["verify"]);
}
