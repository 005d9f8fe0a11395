//! Installing, updating, removing and verifying.

use std::{fs, os::unix::fs::symlink, process::Command};

use samuel_core::{
    hook::HookPoint,
    model::{Coded, Remedy},
    plugin::{Capabilities, Capability, InstallSource, PluginChangeKind, PluginError},
};

use crate::plugins::bench::{Bench, nothing, options};

const PASS: (&str, &str) = ("quality.check", "echo '{\"ok\": true}'");

#[tokio::test]
async fn a_directory_is_installed_with_its_grants_and_digests() {
    let bench = Bench::new();
    fs::write(bench.path("samuel.toml"), "version = \"2\" # mine\n").unwrap();
    let source = bench.skill("lint", "[capabilities]\nenv = [\"GIVEN\"]\n", &[PASS]);
    let fetched = bench.fetch(&source).await.unwrap();
    assert!(fetched.needs_consent() && fetched.before().is_none());
    assert!(!bench.path("samuel.lock").exists(), "nothing is installed before it is granted");
    let granted = fetched.manifest().capabilities.clone();
    let done = bench.plugins().install(fetched, &granted).unwrap();
    assert_eq!(
        (done.entry.name.as_str(), done.replaced, &*done.points),
        ("lint", None, &[HookPoint::QualityCheck][..])
    );
    let config = bench.read("samuel.toml");
    assert!(config.starts_with("version = \"2\" # mine\n") && config.contains("name = \"lint\""), "{config}");
    let lock = bench.read("samuel.lock");
    assert!(lock.contains("env = [\"GIVEN\"]") && lock.contains("\"hooks/0.sh\" = \"sha256:"), "{lock}");
    let mut below: Vec<_> =
        fs::read_dir(bench.path(".samuel/plugins")).unwrap().map(|e| e.unwrap().file_name()).collect();
    below.sort();
    assert_eq!(below, [".lock", "lint"], "nothing is left of the staging");
    assert!(
        bench
            .plugins()
            .verify(None)
            .unwrap()
            .iter()
            .all(|one| one.changes.is_empty() && one.problem.is_none())
    );
}

#[tokio::test]
async fn an_offer_that_is_dropped_leaves_the_project_as_it_was() {
    let bench = Bench::new();
    let source = bench.skill("lint", "", &[PASS]);
    drop(bench.fetch(&source).await.unwrap());
    let files: Vec<_> = bench.files().into_keys().collect();
    assert_eq!(files, [bench.path(".samuel/.gitignore"), bench.path(".samuel/plugins/.lock")]);
    // The lock file that remains is not committed.
    assert!(bench.read(".samuel/.gitignore").contains("\n/plugins/.lock\n"));
}

#[tokio::test]
async fn an_update_asks_again_only_for_what_is_new() {
    let bench = Bench::new();
    let source = bench.skill("lint", "[capabilities]\nenv = [\"A\"]\n", &[PASS]);
    bench.install(&source).await;
    let fetched = bench.fetch(&source).await.unwrap();
    assert!(!fetched.needs_consent() && fetched.new_capabilities().is_empty());
    drop(fetched);
    let source = bench.skill("lint", "[capabilities]\nenv = [\"A\", \"B\"]\nexec = [\"git\"]\n", &[PASS]);
    let fetched = bench.fetch(&source).await.unwrap();
    assert!(fetched.needs_consent());
    let new = Capabilities::default().with(Capability::Env, ["B"]).with(Capability::Exec, ["git"]);
    assert_eq!(fetched.new_capabilities(), new);
    let granted = fetched.manifest().capabilities.clone();
    let done = bench.plugins().install(fetched, &granted).unwrap();
    assert_eq!(done.replaced.as_deref(), Some("1.0.0"));
    assert_eq!(bench.config().plugins.len(), 1);
    let elsewhere = bench.root().parent().unwrap().join("elsewhere");
    fs::rename(&source, &elsewhere).unwrap();
    assert!(bench.fetch(&elsewhere).await.unwrap().needs_consent(), "from elsewhere it is another plugin");
}

#[tokio::test]
async fn nobody_gets_more_than_was_asked_for_and_no_agent_goes_without_exec() {
    let bench = Bench::new();
    let source = bench.skill("lint", "", &[PASS]);
    let fetched = bench.fetch(&source).await.unwrap();
    let refused = bench.plugins().install(fetched, &nothing().with(Capability::Env, ["A"])).unwrap_err();
    assert!(matches!(refused, PluginError::Excess { .. }), "{refused}");

    let agent = ("agent.invoke", "echo '{\"exit_code\": 0}'");
    let source = bench.skill("agent", "", &[agent]);
    let refused = bench.fetch(&source).await.unwrap_err();
    assert!(refused.to_string().contains("does not ask for exec"), "{refused}");
    assert_eq!(refused.location().unwrap().line, Some(8));
    let source = bench.skill("agent", "[capabilities]\nexec = [\"my-agent\"]\n", &[agent]);
    let fetched = bench.fetch(&source).await.unwrap();
    let refused = bench.plugins().install(fetched, &nothing()).unwrap_err();
    assert!(matches!(refused, PluginError::Ungranted { .. }), "{refused}");
    assert_eq!(refused.code().exit_code, 78);
    assert!(!bench.path("samuel.lock").exists() && !bench.path(".samuel/plugins/agent").exists());
}

#[tokio::test]
async fn what_is_wrong_with_a_source_is_said_before_anything_is_written() {
    let bench = Bench::new();
    let source = bench.skill("lint", "", &[PASS]);
    fs::remove_file(source.join("hooks/0.sh")).unwrap();
    let error = bench.fetch(&source).await.unwrap_err();
    assert_eq!(error.code().name, "E_PLUGIN_INVALID");
    assert!(error.to_string().contains(":8:19: quality.check: \"hooks/0.sh\" does not exist"), "{error}");
    fs::write(source.join("hooks/0.sh"), "#!/bin/sh\n").unwrap();
    let error = bench.fetch(&source).await.unwrap_err();
    assert!(error.to_string().contains("is not executable"), "{error}");
    let source = bench.skill("lint", "", &[PASS]);
    symlink("/etc/passwd", source.join("notes")).unwrap();
    assert!(matches!(bench.fetch(&source).await, Err(PluginError::Link { .. })));
    let empty = bench.root().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(matches!(bench.fetch(&empty).await, Err(PluginError::NoManifest { .. })));
    let wasm = bench.skill("comp", "[wasm]\nmodule = \"p.wasm\"\n", &[]);
    let text = fs::read_to_string(wasm.join("samuel-plugin.toml")).unwrap().replace("skill", "wasm");
    fs::write(wasm.join("samuel-plugin.toml"), text).unwrap();
    let error = bench.fetch(&wasm).await.unwrap_err();
    assert!(error.to_string().contains("\"p.wasm\" does not exist"), "{error}");
    assert_eq!(error.help(), Remedy::BuildPlugin.after("Correct the path, or the file.".to_owned()));
    fs::write(wasm.join("p.wasm"), "no wasm").unwrap();
    assert!(bench.fetch(&wasm).await.unwrap_err().to_string().contains("is not WebAssembly"));
}

#[tokio::test]
async fn of_a_component_only_what_it_needs_is_installed() {
    let bench = Bench::new();
    let wasm = bench.skill("comp", "[wasm]\nmodule = \"target/out/p.wasm\"\n", &[]);
    let text = fs::read_to_string(wasm.join("samuel-plugin.toml")).unwrap().replace("skill", "wasm");
    fs::write(wasm.join("samuel-plugin.toml"), text).unwrap();
    for (name, text) in [
        ("src/lib.rs", "code"),
        ("target/out/p.wasm", "\0asm\x0d\0\x01\0"),
        ("README.md", ""),
        ("notes", ""),
        ("target/x", ""),
    ] {
        fs::create_dir_all(wasm.join(name).parent().unwrap()).unwrap();
        fs::write(wasm.join(name), text).unwrap();
    }
    let done = bench.install(&wasm).await;
    assert_eq!(
        done.entry.files.keys().collect::<Vec<_>>(),
        ["README.md", "samuel-plugin.toml", "target/out/p.wasm"]
    );
}

#[tokio::test]
async fn a_namespace_has_one_owner() {
    let bench = Bench::new();
    let one = bench.skill("one", "namespace = \"shared\"\n", &[PASS]);
    bench.install(&one).await;
    let two = bench.skill("two", "namespace = \"shared\"\n", &[PASS]);
    let error = bench.fetch(&two).await.unwrap_err();
    assert!(matches!(&error, PluginError::NamespaceTaken { owner, .. } if owner == "one"), "{error}");
}

#[tokio::test]
async fn uninstalling_takes_out_everything_and_nothing_else() {
    let bench = Bench::new();
    fs::write(
        bench.path("samuel.toml"),
        "version = \"2\" # mine\n\n[guardrails] # rules\nmax_file_lines = 10\n",
    )
    .unwrap();
    let before = bench.read("samuel.toml");
    bench.install(&bench.skill("lint", "", &[PASS])).await;
    bench.install(&bench.skill("audit", "", &[PASS])).await;
    fs::write(bench.path(".samuel/plugins/lint/hooks/0.sh"), "broken").unwrap();
    let gone = bench.plugins().uninstall("lint").unwrap();
    assert_eq!(gone.version.as_deref(), Some("1.0.0"));
    assert!(!bench.path(".samuel/plugins/lint").exists() && bench.path(".samuel/plugins/audit").is_dir());
    assert!(!bench.read("samuel.lock").contains("lint"));
    bench.plugins().uninstall("audit").unwrap();
    assert_eq!(bench.read("samuel.toml"), before);
    let error = bench.plugins().uninstall("audit").unwrap_err();
    assert!(matches!(error, PluginError::NotInstalled { .. }), "{error}");
    bench.install(&bench.skill("lint", "", &[PASS])).await;
    let error = bench.plugins().uninstall("lnit").unwrap_err();
    assert_eq!(error.help(), "Did you mean lint?");
}

#[tokio::test]
async fn where_samuel_toml_cannot_be_changed_the_old_plugin_stays() {
    let bench = Bench::new();
    bench.install(&bench.skill("lint", "", &[PASS])).await;
    let before = bench.files();
    let fetched = bench.fetch(&bench.skill("lint", "description = \"new\"\n", &[PASS])).await.unwrap();
    let broken = "version = \"2\"\nnope = 1\n";
    fs::write(bench.path("samuel.toml"), broken).unwrap();
    let granted = fetched.manifest().capabilities.clone();
    assert!(matches!(bench.plugins().install(fetched, &granted), Err(PluginError::Config(_))));
    let mut after = bench.files();
    assert_eq!(
        after.insert(bench.path("samuel.toml"), before[&bench.path("samuel.toml")].clone()).unwrap(),
        broken.as_bytes()
    );
    assert!(after == before, "{:?}", after.keys());
}

#[tokio::test]
async fn two_commands_do_not_change_plugins_at_once() {
    let bench = Bench::new();
    let source = bench.skill("lint", "", &[PASS]);
    let fetched = bench.fetch(&source).await.unwrap();
    let error = bench.fetch(&source).await.unwrap_err();
    assert!(matches!(error, PluginError::Busy { .. }), "{error}");
    assert_eq!(error.code().exit_code, 75);
    drop(fetched);
    assert!(bench.fetch(&source).await.is_ok());
}

#[tokio::test]
async fn verify_lists_what_was_changed() {
    let bench = Bench::new();
    bench.install(&bench.skill("lint", "", &[PASS])).await;
    fs::write(bench.path(".samuel/plugins/lint/hooks/0.sh"), "#!/bin/sh\nevil\n").unwrap();
    fs::write(bench.path(".samuel/plugins/lint/new"), "").unwrap();
    let found = bench.plugins().verify(Some("lint")).unwrap();
    let kinds: Vec<_> = found[0].changes.iter().map(|change| (change.path.as_str(), change.kind)).collect();
    assert_eq!(kinds, [("hooks/0.sh", PluginChangeKind::Changed), ("new", PluginChangeKind::Added)]);
    assert!(matches!(bench.plugins().verify(Some("other")), Err(PluginError::NotInstalled { .. })));
}

fn git(directory: &std::path::Path, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[tokio::test]
async fn a_git_repository_is_installed_at_a_revision_without_its_history() {
    let bench = Bench::new();
    let source = bench.skill("lint", "", &[PASS]);
    git(&source, &["init", "--quiet"]);
    git(&source, &["add", "."]);
    git(&source, &["commit", "--quiet", "-m", "one"]);
    git(&source, &["tag", "v1"]);
    fs::write(source.join("later.txt"), "later").unwrap();
    git(&source, &["add", "."]);
    git(&source, &["commit", "--quiet", "-m", "two"]);
    let url = format!("file://{}", source.display());
    let plugins = bench.plugins();
    let install = async |text: &str| {
        let source = InstallSource::parse(text, &bench.root()).unwrap();
        let fetched = plugins.fetch(&source, &options()).await?;
        plugins.install(fetched, &nothing())
    };
    let done = install(&format!("{url}#v1")).await.unwrap();
    assert_eq!(done.entry.files.keys().collect::<Vec<_>>(), ["hooks/0.sh", "samuel-plugin.toml"]);
    assert_eq!(done.entry.commit.as_ref().map(String::len), Some(40));
    assert!(bench.read("samuel.toml").contains(&format!("source = \"{url}#v1\"")));
    assert!(install(&url).await.unwrap().entry.files.contains_key("later.txt"));
    let error = install(&format!("{url}#nope")).await.unwrap_err();
    assert!(matches!(error, PluginError::Fetch { .. }), "{error}");
    let error = install("file:///nonexistent/repository").await.unwrap_err();
    assert!(matches!(error, PluginError::Fetch { .. }), "{error}");
}
