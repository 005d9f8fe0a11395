//! Loading: what is installed takes part, and nothing else.

use std::fs;

use samuel_core::{
    hook::{HookPoint, Tier, points},
    model::{Coded, Remedy},
    plugin::{Catalog, LOCK_FILE, PluginError},
};

use crate::plugins::bench::{Bench, dispatch, load_options};

const PASS: (&str, &str) = ("quality.check", "echo '{\"ok\": true}'");
const FAIL: (&str, &str) = ("quality.check", "echo '{\"ok\": false, \"reason\": \"todo left\"}'");

#[tokio::test]
async fn installed_plugins_take_part_in_the_order_of_samuel_toml() {
    let bench = Bench::new();
    bench.install(&bench.skill("zz", "", &[PASS])).await;
    bench.install(&bench.skill("aa", "", &[FAIL])).await;
    let registry = bench.registry();
    let chain: Vec<_> = registry.handlers(HookPoint::QualityCheck).collect();
    assert_eq!(chain, [("zz:hooks/0.sh", 200, Tier::Skill), ("aa:hooks/0.sh", 200, Tier::Skill)]);
    let done = dispatch::<points::QualityCheck>(&registry).await;
    assert_eq!(done.outcome.refused.as_deref(), Some("todo left"));
    assert!(done.outcome.broken.is_empty());
}

#[tokio::test]
async fn a_plugin_that_was_changed_is_refused_with_the_list() {
    let bench = Bench::new();
    bench.install(&bench.skill("lint", "", &[PASS])).await;
    assert!(bench.catalog().is_ok());
    fs::write(bench.path(".samuel/plugins/lint/hooks/0.sh"), "#!/bin/sh\nevil\n").unwrap();
    let error = bench.catalog().unwrap_err();
    let PluginError::Changed { name, changes } = &error else { panic!("{error}") };
    assert_eq!((name.as_str(), changes[0].to_string().as_str()), ("lint", "changed: hooks/0.sh"));
    assert_eq!(error.code().exit_code, 78);
}

#[tokio::test]
async fn a_plugin_that_is_not_installed_is_refused_with_the_command_that_does_it() {
    let bench = Bench::new();
    fs::write(bench.path("samuel.toml"), "[[plugins]]\nname = \"lint\"\nsource = \"./plugins/lint\"\n")
        .unwrap();
    let error = bench.catalog().unwrap_err();
    assert_eq!(error.help(), Remedy::InstallPlugin { source: Some("./plugins/lint".to_owned()) });
    bench.install(&bench.skill("audit", "", &[PASS])).await;
    bench.plugins().uninstall("lint").unwrap();
    fs::remove_dir_all(bench.path(".samuel/plugins/audit")).unwrap();
    assert!(matches!(bench.catalog(), Err(PluginError::Listed { .. })));
}

#[tokio::test]
async fn a_plugin_that_the_program_brings_keeps_its_place_and_need_not_be_installed() {
    let bench = Bench::new();
    fs::write(bench.path("samuel.toml"), "[[plugins]]\nname = \"own\"\n").unwrap();
    bench.install(&bench.skill("lint", "", &[PASS])).await;
    assert!(matches!(bench.catalog(), Err(PluginError::Listed { .. })));
    let brought = ["own".to_owned()];
    let catalog = Catalog::read_without(&bench.root(), &bench.config(), &brought).unwrap();
    let places: Vec<_> = catalog.plugins().iter().map(|one| (&*one.manifest.name, one.place)).collect();
    assert_eq!(places, [("lint", 1)]);
}

#[tokio::test]
async fn grants_that_were_added_by_hand_are_refused() {
    let bench = Bench::new();
    bench.install(&bench.skill("lint", "[capabilities]\nenv = [\"GIVEN\"]\n", &[PASS])).await;
    let lock = bench.read(LOCK_FILE).replace("env = [\"GIVEN\"]", "env = [\"GIVEN\", \"SECRET\"]");
    fs::write(bench.path(LOCK_FILE), lock).unwrap();
    let error = bench.catalog().unwrap_err();
    assert!(matches!(error, PluginError::Excess { .. }), "{error}");
}

#[tokio::test]
async fn what_samuel_lock_says_of_a_plugin_as_a_whole_is_compared_too() {
    let bench = Bench::new();
    bench.install(&bench.skill("lint", "", &[PASS])).await;
    let lock = bench.read(LOCK_FILE);
    let digest = lock.lines().find(|line| line.starts_with("digest")).unwrap();
    for (from, to, told) in [
        (
            "version = \"1.0.0\"",
            "version = \"9.9.9\"",
            "version: samuel.lock says \"9.9.9\", the files say \"1.0.0\"",
        ),
        (digest, "digest = \"sha256:00\"", "digest: samuel.lock says \"sha256:00\", the files say \"sha256:"),
        ("kind = \"skill\"", "kind = \"wasm\"", "kind: samuel.lock says \"wasm\", the files say \"skill\""),
    ] {
        fs::write(bench.path(LOCK_FILE), lock.replacen(from, to, 1)).unwrap();
        let error = bench.catalog().unwrap_err();
        assert!(matches!(error, PluginError::Differs { .. }), "{error}");
        assert!(error.to_string().contains(told), "{told}: {error}");
        let verified = bench.plugins().verify(None).unwrap();
        assert!(!verified[0].is_intact());
        assert!(verified[0].differences[0].to_string().starts_with(told), "{:?}", verified[0]);
    }
    fs::write(bench.path(LOCK_FILE), lock).unwrap();
    assert!(bench.catalog().is_ok() && bench.plugins().verify(None).unwrap()[0].is_intact());
}

#[tokio::test]
async fn scripts_are_not_run_without_a_private_directory() {
    let bench = Bench::new();
    bench.install(&bench.skill("lint", "", &[PASS])).await;
    let options = samuel_core::plugin::LoadOptions { state_dir: None, ..load_options() };
    let error = bench.catalog().unwrap().load(&options).unwrap_err();
    assert!(matches!(error, PluginError::NoStateDir { .. }), "{error}");
}

#[tokio::test]
async fn an_image_is_pinned_and_refused_where_no_engine_runs_it() {
    let bench = Bench::new();
    let source = bench.skill("image", "", &[]);
    let text = fs::read_to_string(source.join("samuel-plugin.toml")).unwrap().replace("skill", "oci");
    let with = |image: &str| {
        let text = format!("{text}[oci]\nimage = \"{image}\"\nmode = \"call\"\n");
        fs::write(source.join("samuel-plugin.toml"), text).unwrap();
    };
    with("example/x:1");
    let from = samuel_core::plugin::InstallSource::parse(source.to_str().unwrap(), &source).unwrap();
    let error = bench.plugins().fetch(&from, &crate::plugins::bench::options()).await.unwrap_err();
    assert!(error.to_string().contains("has no digest"), "{error}");
    let image = format!("example/x@sha256:{}", "0".repeat(64));
    with(&image);
    bench.install(&source).await;
    assert!(bench.read(LOCK_FILE).contains(&format!("image = \"{image}\"")));
    let error = bench.catalog().unwrap().load(&load_options()).unwrap_err();
    assert!(matches!(error, PluginError::Image { .. }), "{error}");
    assert_eq!(samuel_core::model::Coded::code(&error).name, "E_SANDBOX_UNAVAILABLE");
}

#[tokio::test]
async fn a_manifests_order_and_samuel_tomls_chain_hold() {
    let bench = Bench::new();
    let early = bench.skill("early", "", &[]);
    let manifest = early.join("samuel-plugin.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text + "\"quality.check\" = { handler = \"check\", order = 50 }\n").unwrap();
    crate::plugins::bench::write_script(&early.join("check"), "echo '{\"ok\": true}'");
    bench.install(&bench.skill("late", "", &[PASS])).await;
    bench.install(&early).await;
    let order = |bench: &Bench| -> Vec<(String, i32)> {
        bench
            .registry()
            .handlers(HookPoint::QualityCheck)
            .map(|(id, order, _)| (id.to_owned(), order))
            .collect()
    };
    assert_eq!(order(&bench), [("early:check".to_owned(), 50), ("late:hooks/0.sh".to_owned(), 200)]);
    let config =
        bench.read("samuel.toml") + "\n[hooks.\"quality.check\"]\nhandlers = [\"late\", \"early\"]\n";
    fs::write(bench.path("samuel.toml"), config).unwrap();
    assert_eq!(order(&bench)[0].0, "late:hooks/0.sh");
}
