//! A plugin from its first file to its removal: made, tried, packed, published, installed, run, updated.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    bench::{AtTerminal, Bench, Ran, says, wait_until},
    registry_double::RegistryDouble,
};

/// Makes a plugin in sh that handles `quality.check`, and says at each call what it was told of.
pub(crate) fn lint(bench: &Bench) {
    bench.ok(&["plugin", "new", "lint", "--lang", "sh", "--point", "quality.check"]);
}

/// Sets the version of the plugin.
fn release(bench: &Bench, version: &str) {
    let manifest = bench.read("lint/samuel-plugin.toml");
    let lines = manifest.lines().map(|line| match line.starts_with("version = ") {
        true => format!("version = \"{version}\""),
        false => line.to_owned(),
    });
    bench.write("lint/samuel-plugin.toml", &(lines.collect::<Vec<_>>().join("\n") + "\n"));
}

/// Returns the code of a refusal.
fn code(ran: &Ran) -> String {
    assert_ne!(ran.code, 0, "{ran:?}");
    ran.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
}

/// Returns what the run's record has that the plugin wrote to its log.
fn logged(record: &str) -> Vec<String> {
    let events = record.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines = events.flat_map(|event| find(&event, "logged"));
    lines.filter_map(|line| Some(line["message"].as_str()?.to_owned())).collect()
}

/// Returns the items of every list of a name in a document.
fn find(value: &Value, name: &str) -> Vec<Value> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, inner)| match inner {
                Value::Array(items) if key == name => items.clone(),
                inner => find(inner, name),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(|item| find(item, name)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_plugin_goes_from_new_to_uninstalled_through_a_registry_and_a_fresh_clone() {
    let registry = RegistryDouble::start();
    let bench = Bench::with_tasks(&["One"]);
    lint(&bench);
    says(&bench.ok(&["plugin", "build", "lint"]).stdout, &["Nothing has to be built"]);
    says(&bench.ok(&["plugin", "validate", "lint"]).stdout, &["lint 0.1.0 is valid"]);
    let tried = bench.ok(&["plugin", "test", "lint"]).stdout;
    says(&tried, &["quality.check lint:hooks/quality-check.sh", "log info: called with"]);
    let packed = bench.ok(&["plugin", "pack", "lint", "--output", "dist", "--json"]).json();
    let digest = packed["data"]["digest"].as_str().unwrap().to_owned();
    let sum = bench.read("dist/lint-0.1.0.tar.gz.sha256");
    assert_eq!(sum, format!("{}  lint-0.1.0.tar.gz\n", digest.replace("sha256:", "")));
    let published = bench.ok(&["plugin", "publish", &registry.plugin("ada/lint"), "lint", "--json"]).json();
    let address = published["data"]["address"].as_str().unwrap();
    assert!(address.starts_with(&registry.plugin("ada/lint:0.1.0@sha256:")), "{address}");
    let again = bench.ok(&["plugin", "publish", &registry.plugin("ada/lint"), "lint"]).stdout;
    assert!(again.starts_with("Was there already: lint 0.1.0"), "{again}");

    bench.make_repository(&["samuel.toml", ".samuel"]);
    let clone = Bench::empty();
    fs::remove_dir(clone.root()).unwrap();
    let from = bench.root().display().to_string();
    let to = clone.tmp().parent().unwrap().join("project");
    bench.git(&["clone", "--quiet", &from, &to.display().to_string()]);
    let source = registry.plugin("ada/lint:0.1.0");
    assert_eq!(code(&clone.samuel(&["install", &source, "--json"])), "E_PLUGIN_REFUSED");
    clone.ok(&["install", &source, "--yes"]);
    clone.ok(&["run", "init"]);
    clone.ok(&["run", "enqueue", "--", "One"]);
    clone.git(&["config", "user.name", "Ada"]);
    clone.git(&["config", "user.email", "ada@example.org"]);
    clone.git(&["add", "."]);
    clone.git(&["commit", "--quiet", "--message", "Install lint"]);
    let ran = clone.start("echo new > made.txt", &["--max-iterations", "1", "--json"]);
    assert!(logged(&ran.stdout).iter().any(|line| line.starts_with("called with")), "{ran:?}");
    let record = clone.ok(&["run", "log", "--json"]).stdout;
    assert!(logged(&record).iter().any(|line| line.starts_with("called with")), "{record}");

    release(&bench, "0.2.0");
    bench.ok(&["plugin", "publish", &registry.plugin("ada/lint"), "lint"]);
    let versions = ["0.1.0", "0.2.0"].map(|version| {
        let source = registry.plugin(&format!("ada/lint:{version}"));
        json!({ "version": version, "samuel": "^2.0", "source": source })
    });
    let lint = json!({ "name": "lint", "description": "", "versions": versions });
    clone.write("../index.json", &json!({ "version": 1, "plugins": [lint] }).to_string());
    let newer = clone.ok(&["outdated", "--index", "../index.json"]).stdout;
    says(&newer, &["lint  0.1.0      0.2.0"]);
    let updated = clone.ok(&["update", "lint", "--index", "../index.json", "--yes"]).stdout;
    assert!(updated.starts_with("lint: Updated from 0.1.0 to 0.2.0"), "{updated}");
    clone.ok(&["verify"]);
    let again = clone.start("echo newer > made.txt", &["--max-iterations", "1", "--json"]);
    assert!(logged(&again.stdout).iter().any(|line| line.starts_with("called with")), "{again:?}");
    assert_eq!(clone.ok(&["uninstall", "lint"]).stdout, "Removed lint\n");
    assert!(!clone.path(".samuel/plugins/lint").exists() && !clone.read("samuel.toml").contains("lint"));
}

#[test]
fn what_was_tampered_with_on_its_way_through_a_registry_is_refused_with_a_code_of_its_own() {
    let registry = RegistryDouble::start();
    let bench = Bench::empty();
    lint(&bench);
    let (base, tagged) = (registry.plugin("ada/lint"), registry.plugin("ada/lint:0.1.0"));
    let published = bench.ok(&["plugin", "publish", &base, "lint", "--json"]).json();
    let pinned = published["data"]["address"].as_str().unwrap();
    bench.ok(&["install", &tagged, "--yes"]);
    let installed = bench.read("samuel.lock");
    let install = |source: &str| code(&bench.samuel(&["install", source, "--json"]));

    let asked = Bench::empty().samuel(&["install", &tagged]).ends(78);
    says(&asked.stderr, &["error: nobody agreed to lint 0.1.0\n"]);
    let wrong = format!("{tagged}@sha256:{}", "0".repeat(64));
    assert_eq!(install(&wrong), "E_PLUGIN_REGISTRY", "there is none of that digest");
    registry.lie("0.1.0");
    assert_eq!(install(pinned), "E_PLUGIN_DIGEST", "an address with a digest names one manifest for good");
    // The same version with other files.
    let script = bench.read("lint/hooks/quality-check.sh");
    bench.write("lint/hooks/quality-check.sh", &format!("{script}# changed\n"));
    let refused = bench.samuel(&["plugin", "publish", &base, "lint"]).fails(1);
    says(
        &refused.stderr,
        &["has another plugin under the tag 0.1.0\n", "help: Publish another version, or pass --force"],
    );
    bench.ok(&["plugin", "publish", &base, "lint", "--force"]);
    let moved = bench.samuel(&["install", &tagged]).ends(78);
    says(
        &moved.stderr,
        &["has something else now than lint was installed from", "before, sha256:", "--accept-moved"],
    );
    assert_eq!(install(&tagged), "E_PLUGIN_MOVED");

    registry.rewrite("0.1.0", |manifest| manifest["layers"][0]["size"] = json!(1_u64 << 40));
    assert_eq!(install(&tagged), "E_PLUGIN_SIZE");
    registry.rewrite("0.1.0", |manifest| manifest["layers"][0]["mediaType"] = json!("text/plain"));
    assert_eq!(install(&tagged), "E_PLUGIN_REGISTRY");
    bench.ok(&["plugin", "publish", &base, "lint", "--force"]);
    registry.corrupt();
    assert_eq!(install(&tagged), "E_PLUGIN_DIGEST");
    registry.put_archive("0.1.0", &evil_archive(&bench));
    assert_eq!(install(&tagged), "E_PLUGIN_ARCHIVE");
    assert_eq!(bench.read("samuel.lock"), installed, "nothing was installed by any of that");
    bench.ok(&["verify"]);
}

#[test]
fn a_registry_lets_in_who_has_logged_in_there() {
    let registry = RegistryDouble::start().requiring("YWRhOnNlY3JldA==");
    let bench = Bench::empty();
    lint(&bench);
    let base = registry.plugin("ada/lint");
    let refused = bench.samuel(&["plugin", "publish", &base, "lint"]).fails(1);
    says(&refused.stderr, &["does not let you in"]);
    let kept = json!({ "auths": { registry.host(): { "auth": "YWRhOnNlY3JldA==" } } });
    bench.write("../home/.docker/config.json", &kept.to_string());
    bench.ok(&["plugin", "publish", &base, "lint"]);
    bench.ok(&["install", &registry.plugin("ada/lint:0.1.0"), "--yes"]);
    // One for the beginning of names goes before that of the host, where podman keeps it.
    let name = format!("{}/ada", registry.host());
    let kept =
        json!({ "auths": { name: { "auth": "YWRhOnNlY3JldA==" }, registry.host(): { "auth": "eA==" } } });
    bench.write("../home/.config/containers/auth.json", &kept.to_string());
    fs::remove_file(bench.path("../home/.docker/config.json")).unwrap();
    bench.ok(&["install", &registry.plugin("ada/lint:0.1.0"), "--yes"]);
}

#[test]
fn an_archive_is_installed_by_its_digest_and_asked_about_again_once_it_is_another_one() {
    let bench = Bench::empty();
    lint(&bench);
    let packed = bench.ok(&["plugin", "pack", "lint", "--json"]).json();
    assert_eq!(packed["data"]["unsaid"], json!(["authors", "license", "repository"]));
    let digest = packed["data"]["digest"].as_str().unwrap();
    let archive = "lint-0.1.0.tar.gz";
    let install = |source: &str| code(&bench.samuel(&["install", source, "--json"]));
    assert_eq!(install(&format!("{archive}#sha256:{}", "0".repeat(64))), "E_PLUGIN_DIGEST");
    bench.ok(&["install", &format!("{archive}#{digest}"), "--yes"]);
    assert!(bench.read("samuel.toml").contains(&format!("source = \"./{archive}#{digest}\"")));
    bench.ok(&["install", archive, "--yes"]);
    bench.ok(&["install", archive]);
    let info = bench.ok(&["info", "lint"]).stdout;
    says(&info, &[&format!("of the archive or artifact {digest}")]);

    let script = bench.read("lint/hooks/quality-check.sh");
    bench.write("lint/hooks/quality-check.sh", &format!("{script}# changed\n"));
    bench.ok(&["plugin", "pack", "lint"]);
    assert_eq!(install(archive), "E_PLUGIN_MOVED");

    fs::write(bench.path("evil.tar.gz"), evil_archive(&bench)).unwrap();
    assert_eq!(install("evil.tar.gz"), "E_PLUGIN_ARCHIVE");
    assert_eq!(install("https://127.0.0.1:1/lint.tar.gz"), "E_PLUGIN_SOURCE", "it needs its digest");
    let unreachable = format!("http://127.0.0.1:1/lint.tar.gz#{digest}");
    assert_eq!(install(&unreachable), "E_PLUGIN_REGISTRY");
    assert!(staging(&bench.path(".samuel/plugins")).is_empty(), "nothing is left lying");
}

#[test]
fn an_archive_is_installed_from_its_url_by_its_digest() {
    let registry = RegistryDouble::start();
    let bench = Bench::empty();
    lint(&bench);
    let packed = bench.ok(&["plugin", "pack", "lint", "--json"]).json();
    let archive = fs::read(bench.path("lint-0.1.0.tar.gz")).unwrap();
    let url = registry.file("lint-0.1.0.tar.gz", &archive);
    let source = format!("{url}#{}", packed["data"]["digest"].as_str().unwrap());
    bench.ok(&["install", &source, "--yes"]);
    assert!(bench.read("samuel.toml").contains(&format!("source = \"{source}\"")));
    bench.ok(&["verify"]);
    let installed = bench.read("samuel.lock");
    registry.file("lint-0.1.0.tar.gz", &evil_archive(&bench));
    assert_eq!(code(&bench.samuel(&["install", &source, "--json"])), "E_PLUGIN_DIGEST");
    assert_eq!(bench.read("samuel.lock"), installed);
}

/// Makes an archive of the plugin in which one path leads out of it.
fn evil_archive(bench: &Bench) -> Vec<u8> {
    let mut tar = Command::new("tar");
    tar.args(["-czPf", "-", "--transform", "s,^lint/README.md$,lint/../../evil,", "lint"]);
    let made = tar.current_dir(bench.root()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    made.stdout
}

fn staging(plugins: &Path) -> Vec<String> {
    let names =
        fs::read_dir(plugins).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".staging-")).collect()
}

#[test]
fn a_tag_that_was_moved_asks_again_and_a_directory_of_a_repository_is_a_source() {
    let bench = Bench::empty();
    let plugins = Bench::empty();
    plugins.ok(&["plugin", "new", "lint", "--lang", "sh"]);
    plugins.make_repository(&["lint"]);
    plugins.git(&["tag", "v1"]);
    let source = format!("git+{}#v1:lint", plugins.root().display());
    bench.ok(&["install", &source, "--yes"]);
    bench.ok(&["install", &source]);
    plugins.write("lint/README.md", "Changed.\n");
    plugins.git(&["commit", "--quiet", "--all", "--message", "Change"]);
    bench.ok(&["install", &source]);
    plugins.git(&["tag", "--force", "v1"]);
    let refused = bench.samuel(&["install", &source, "--json"]);
    assert_eq!((refused.code, code(&refused)), (78, "E_PLUGIN_MOVED".to_owned()));
    assert!(refused.json()["data"]["moved"]["now"].is_string(), "{refused:?}");
    // A grant is none of what was moved.
    assert_eq!(code(&bench.samuel(&["install", &source, "--yes", "--json"])), "E_PLUGIN_MOVED");
    bench.ok(&["install", &source, "--accept-moved"]);
    // A branch in place of the tag has moved it, too; at the same commit nobody has to be asked yet.
    plugins.git(&["tag", "--delete", "v1"]);
    plugins.git(&["branch", "v1"]);
    bench.ok(&["install", &source]);
    plugins.git(&["checkout", "--quiet", "v1"]);
    plugins.write("lint/README.md", "Changed on a branch.\n");
    plugins.git(&["commit", "--quiet", "--all", "--message", "Change"]);
    plugins.git(&["checkout", "--quiet", "main"]);
    assert_eq!(code(&bench.samuel(&["install", &source, "--yes", "--json"])), "E_PLUGIN_MOVED");
    assert_eq!(code(&bench.samuel(&["update", "--yes", "--json"])), "E_PLUGIN_MOVED");
    // A branch is expected to move.
    let branch = source.replace("#v1", "#main");
    bench.ok(&["install", &branch, "--yes"]);
    plugins.write("lint/README.md", "Changed again.\n");
    plugins.git(&["commit", "--quiet", "--all", "--message", "Change"]);
    bench.ok(&["install", &branch]);
    let missing = bench.samuel(&["install", &source.replace(":lint", ":none")]).fails(1);
    says(&missing.stderr, &["there is no directory none in it"]);
}

#[test]
fn what_was_moved_and_asks_for_more_has_to_be_granted_as_well() {
    let bench = Bench::empty();
    lint(&bench);
    let pack = || bench.ok(&["plugin", "pack", "lint"]);
    pack();
    bench.ok(&["install", "lint-0.1.0.tar.gz", "--yes"]);
    let manifest = bench.read("lint/samuel-plugin.toml");
    let more = format!("{manifest}\n[capabilities]\nenv = [\"LEVEL\"]\n");
    bench.write("lint/samuel-plugin.toml", &more);
    pack();
    let install = |more: &[&str]| bench.samuel(&[&["install", "lint-0.1.0.tar.gz", "--json"], more].concat());
    assert_eq!(code(&install(&["--accept-moved"])), "E_PLUGIN_REFUSED");
    assert_eq!(code(&install(&["--yes"])), "E_PLUGIN_MOVED");
    install(&["--accept-moved", "--yes"]).ends(0);
    bench.ok(&["verify"]);
}

#[test]
fn a_directory_that_has_another_plugin_by_now_updates_nothing() {
    let bench = Bench::empty();
    lint(&bench);
    bench.ok(&["install", "lint", "--yes"]);
    let manifest = bench.read("lint/samuel-plugin.toml");
    bench.write("lint/samuel-plugin.toml", &manifest.replace("\"lint\"", "\"style\""));
    let refused = bench.samuel(&["update", "--yes", "--json"]);
    assert_eq!(code(&refused), "E_PLUGIN_SOURCE");
    says(&refused.stdout, &["has style 0.1.0, and not lint"]);
    assert!(!bench.path(".samuel/plugins/style").exists());
}

#[test]
fn an_index_leads_to_plugins_and_to_their_newer_versions() {
    let bench = Bench::empty();
    lint(&bench);
    bench.ok(&["plugin", "pack", "lint", "--output", "index"]);
    let write = |versions: &[&str]| {
        let one = |version: &&str| json!({ "version": version, "source": format!("lint-{version}.tar.gz") });
        let versions: Vec<Value> = versions.iter().map(one).collect();
        let plugin = json!({ "name": "lint", "description": "Checks the style", "versions": versions });
        bench.write("index/index.json", &json!({ "version": 1, "plugins": [plugin] }).to_string());
    };
    write(&["0.1.0"]);
    let refused = bench.samuel(&["search", "style"]).fails(2);
    says(&refused.stderr, &["no index of plugins is named", "SAMUEL_PLUGIN_INDEX"]);
    let found = bench.samuel_where("SAMUEL_PLUGIN_INDEX", "index", &["search", "style"]);
    says(&found.stdout, &["lint  0.1.0    Checks the style"]);
    fs::rename(bench.path("lint"), bench.path("source")).unwrap();
    let unindexed = bench.samuel(&["install", "lint"]).fails(1);
    says(&unindexed.stderr, &["--index", "SAMUEL_PLUGIN_INDEX"]);
    bench.ok(&["install", "lint", "--index", "index", "--yes"]);
    says(
        &bench.samuel(&["install", "none", "--index", "index"]).fails(1).stderr,
        &["the index has no plugin \"none\""],
    );
    says(&bench.ok(&["outdated", "--index", "index"]).stdout, &["is up to date"]);

    fs::rename(bench.path("source"), bench.path("lint")).unwrap();
    release(&bench, "0.2.0");
    bench.ok(&["plugin", "pack", "lint", "--output", "index"]);
    write(&["0.2.0"]);
    // What the index does not have may be another plugin of the name.
    let elsewhere = bench.ok(&["update", "--index", "index"]);
    says(&elsewhere.stdout, &["lint 0.1.0 is up to date"]);
    says(&elsewhere.stderr, &["the index has lint 0.2.0, and lint 0.1.0 was not installed from it"]);
    write(&["0.1.0", "0.2.0"]);
    says(&bench.ok(&["outdated", "--index", "index"]).stdout, &["lint  0.1.0      0.2.0"]);
    assert_eq!(bench.samuel(&["update", "--index", "index"]).code, 78, "it comes from elsewhere");
    says(
        &bench.ok(&["update", "lint", "--index", "index", "--yes"]).stdout,
        &["lint: Updated from 0.1.0 to 0.2.0"],
    );
    says(&bench.ok(&["update", "--index", "index"]).stdout, &["lint 0.2.0 is up to date"]);
    assert!(bench.read("samuel.toml").contains("source = \"./index/lint-0.2.0.tar.gz\""));

    // An index is not believed.
    fs::copy(bench.path("index/lint-0.2.0.tar.gz"), bench.path("index/lint-0.3.0.tar.gz")).unwrap();
    write(&["0.2.0", "0.3.0"]);
    let lying = bench.samuel(&["update", "--index", "index", "--yes", "--json"]);
    assert_eq!(code(&lying), "E_PLUGIN_SOURCE");
    says(&lying.stdout, &["has lint 0.2.0, and not lint 0.3.0"]);
    bench.ok(&["uninstall", "lint"]);
    fs::rename(bench.path("lint"), bench.path("source")).unwrap();
    let lying = bench.samuel(&["install", "lint", "--index", "index", "--yes", "--json"]);
    assert_eq!(code(&lying), "E_PLUGIN_SOURCE");
}

#[test]
fn an_update_goes_on_after_one_that_fails_and_tells_of_both() {
    let bench = Bench::empty();
    for name in ["audit", "lint", "style"] {
        bench.ok(&["plugin", "new", name, "--lang", "sh"]);
        bench.ok(&["install", name, "--yes"]);
    }
    fs::remove_dir_all(bench.path("audit")).unwrap();
    release(&bench, "0.2.0");
    // A script that can be run no more is not up to date.
    let script =
        fs::read_dir(bench.path(".samuel/plugins/style/hooks")).unwrap().next().unwrap().unwrap().path();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = bench.samuel(&["update", "--json"]);
    assert_eq!((ran.code, code(&ran)), (1, "E_PLUGIN_SOURCE".to_owned()));
    let data = &ran.json()["data"];
    let names = |key: &str| -> Vec<&str> {
        data[key].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect()
    };
    assert_eq!((names("updated"), names("failed")), (vec!["lint", "style"], vec!["audit"]), "{ran:?}");
    assert_ne!(fs::metadata(&script).unwrap().permissions().mode() & 0o111, 0);
    let again = bench.samuel(&["update"]).ends(1);
    says(&again.stdout, &["lint 0.2.0 is up to date", "style 0.1.0 is up to date"]);
    says(&again.stderr, &["not updated: audit", "audit: "]);
}

#[test]
fn a_plugin_that_becomes_scripts_is_asked_about_although_it_asks_for_nothing() {
    let bench = Bench::empty();
    lint(&bench);
    let manifest = |kind: &str, more: &str| {
        format!(
            "[plugin]\nname = \"lint\"\nkind = \"{kind}\"\nversion = \"0.1.0\"\nsamuel = \"^2.0\"\n{more}"
        )
    };
    let profile = "[[methodology]]\nname = \"strict\"\nmax_iterations = 3\n";
    bench.write("lint/samuel-plugin.toml", &manifest("methodology", profile));
    bench.ok(&["install", "lint", "--yes"]);
    let hooks = "[hooks]\n\"quality.check\" = \"hooks/quality-check.sh\"\n";
    bench.write("lint/samuel-plugin.toml", &manifest("skill", hooks));
    let refused = bench.samuel(&["update"]).ends(78);
    says(&refused.stderr, &["+ it is of kind skill now, and was of kind methodology"]);
    bench.ok(&["update", "--yes"]);
}

#[test]
fn a_large_plugin_goes_through_a_registry_without_what_it_was_packed_into_before() {
    let registry = RegistryDouble::start();
    let bench = Bench::empty();
    lint(&bench);
    // Nothing of it gets smaller by packing.
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    })
    .take(3 << 20)
    .collect();
    fs::write(bench.path("lint/noise.bin"), noise).unwrap();
    bench.write("lint/.gitignore", ".env\n");
    bench.write("lint/.env", "TOKEN=secret\n");
    let pack = ["plugin", "pack", "lint", "--output", "lint", "--json"];
    let packed = bench.ok(&pack).json();
    let again = bench.ok(&pack).json();
    assert_eq!(packed["data"], again["data"], "the archive is no part of the next one");
    assert_eq!(packed["data"]["ignored"], json!([".env"]));
    says(&packed["warnings"].to_string(), &["git leaves out .env"]);
    let published = bench.ok(&["plugin", "publish", &registry.plugin("ada/lint"), "lint"]);
    says(&published.stdout, &["  6 files\n    .env\n", "    noise.bin\n"]);
    says(&published.stderr, &["git leaves out .env, by a .gitignore, and the archive has it all the same"]);
    bench.ok(&["install", &registry.plugin("ada/lint:0.1.0"), "--yes"]);
    bench.ok(&["verify"]);
}

#[test]
fn a_signal_at_the_question_of_an_installation_leaves_nothing_behind() {
    let bench = Bench::empty();
    lint(&bench);
    let question = AtTerminal::spawn(&bench, &["install", "lint"]);
    assert!(question.wait_for("[y/N]"));
    assert_eq!(staging(&bench.path(".samuel/plugins")).len(), 1, "it waits to be put in place");
    question.signal(Signal::INT);
    assert_eq!(question.end().0, 130);
    assert!(staging(&bench.path(".samuel/plugins")).is_empty());
}

#[test]
fn a_project_follows_the_directory_of_a_plugin_that_is_linked() {
    let bench = Bench::empty();
    lint(&bench);
    assert_eq!(bench.samuel(&["plugin", "link", "lint"]).code, 78, "nobody has granted it");
    let linked = bench.spawn(&["plugin", "link", "lint", "--yes"]);
    wait_until("it is installed", || bench.path("samuel.lock").exists());
    bench.write("lint/README.md", "Changed.\n");
    let installed = bench.path(".samuel/plugins/lint/README.md");
    wait_until("the change is there", || {
        fs::read_to_string(&installed).is_ok_and(|text| text == "Changed.\n")
    });
    linked.signal(Signal::INT);
    assert_eq!(linked.code(), 130);
    bench.ok(&["verify"]);
    assert!(bench.read("samuel.toml").contains("source = \"./lint\""));
}

#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn a_registry_of_debian_takes_a_plugin_and_gives_it_back() {
    let bench = Bench::empty();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let store = bench.tmp().join("registry");
    let config = format!(
        "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: \"{}\"}}}}\nhttp: {{addr: \"127.0.0.1:{port}\"}}\n",
        store.display()
    );
    let config = bench.write("registry.yml", &config);
    let mut registry = Command::new("docker-registry");
    registry.arg("serve").arg(config).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(registry) = registry.spawn() else {
        println!("skipped: a registry of Debian: docker-registry is not installed");
        return;
    };
    let registry = Ending(registry);
    wait_until("the registry listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    lint(&bench);
    let base = format!("oci://127.0.0.1:{port}/ada/lint");
    let published = bench.ok(&["plugin", "publish", &base, "lint", "--json"]).json();
    bench.ok(&["install", published["data"]["address"].as_str().unwrap(), "--yes"]);
    says(&bench.ok(&["plugin", "publish", &base, "lint"]).stdout, &["Was there already"]);
    bench.ok(&["verify"]);
    drop(registry);
}

/// A process that ends with the test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
