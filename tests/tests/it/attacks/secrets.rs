//! Passwords on their way out: in URLs that are shown or kept, and in variables
//! that reach what a project brings.

use std::fs;

use crate::attacks::{
    kit::{PASSES, Ran, Target, all_below, git, ran},
    terminal::LIMIT,
};

const PASSWORD: &str = "hunter2-is-secret";

/// Fails where a command has shown the password, or a file that Samuel wrote has it.
fn keeps_it_secret(target: &Target, ran: &Ran) {
    assert!(!ran.hung && !ran.text().contains(PASSWORD), "{}", ran.text());
    let written = all_below(&target.path(".samuel/run"));
    for path in ["samuel.toml", "samuel.lock"].map(|name| target.path(name)).into_iter().chain(written) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        assert!(!text.contains(PASSWORD), "{}: {text}", path.display());
    }
}

#[test]
fn a_plugins_source_is_kept_and_shown_without_its_password() {
    let target = Target::new();
    let source = target.mark("source");
    target.plugin("../marks/source", "lint", "before:loop", PASSES);
    git(&source, &["init", "--quiet", "--initial-branch=main"]);
    git(&source, &["add", "--all"]);
    git(&source, &["commit", "--quiet", "--message", "feat: lint"]);
    // The user's git reaches the repository by either URL.
    let url = format!("https://me:{PASSWORD}@example.org/lint.git");
    let config = format!(
        "[url \"file://{}\"]\n\tinsteadOf = {url}\n\tinsteadOf = https://example.org/lint.git\n",
        source.display()
    );
    fs::write(target.home().join(".gitconfig"), config).unwrap();

    let refused = ran(target.samuel(&["install", &url]), LIMIT).ends(78);
    keeps_it_secret(&target, &refused);
    let refused = ran(target.samuel(&["install", "--json", &url]), LIMIT);
    keeps_it_secret(&target, &refused);
    let done = ran(target.samuel(&["install", "--yes", &url]), LIMIT).ends(0);
    assert!(done.text().contains("credential helper"), "{}", done.text());
    keeps_it_secret(&target, &done);
    for name in ["samuel.toml", "samuel.lock"] {
        assert!(target.read(name).contains("\"https://example.org/lint.git\""), "{}", target.read(name));
    }
    let again = ran(target.samuel(&["install", "https://example.org/lint.git"]), LIMIT).ends(0);
    assert!(!again.text().contains("credential helper"), "{}", again.text());

    for url in [
        format!("http://me:{PASSWORD}@127.0.0.1:1/x.git"),
        format!("http://{PASSWORD}@127.0.0.1:1/x.git"),
        format!("http://127.0.0.1:1/x.git?access_token={PASSWORD}"),
        format!("https://me:{PASSWORD}@127.0.0.1:1/x#-v"),
    ] {
        for args in [&["install"][..], &["install", "--json"]] {
            let failed = ran(target.samuel(&[args, &[url.as_str()]].concat()), LIMIT);
            assert!(failed.code != Some(0), "{}", failed.text());
            keeps_it_secret(&target, &failed);
        }
    }
}

#[test]
fn a_run_keeps_passwords_from_checks_from_the_terminal_and_from_its_records() {
    let target = Target::with_tasks(&["First"]);
    let url = format!("https://me:{PASSWORD}@host.invalid/x.git");
    target.program(
        "agent.sh",
        &format!("#!/bin/sh\ncat > /dev/null\nenv > agent-env\necho 'fatal: {url}' >&2\nexit 3\n"),
    );
    target.program("works.sh", "#!/bin/sh\ncat > prompt\nenv > agent-env\n");
    target.program("check.sh", &format!("#!/bin/sh\nenv > check-env\necho 'fatal: {url}'\nexit 1\n"));
    let config = target.read("samuel.toml");
    let table = format!(
        "[methodology.ralph]\npause = \"0s\"\nquality_checks = [\"./check.sh\"]\nagent_args = [\"{url}\"]\n"
    );
    let with_url = config.replace("[methodology.ralph]\n", &table);
    target.write("samuel.toml", &with_url);
    let refused = ran(target.samuel(&["run", "start", "--agent-command", "./agent.sh"]), LIMIT);
    assert!(refused.code == Some(78) && !refused.text().contains(PASSWORD), "{}", refused.text());

    target.write("samuel.toml", with_url.replace(&format!("agent_args = [\"{url}\"]\n"), ""));
    for (agent, args) in [("./agent.sh", &[][..]), ("./works.sh", &[]), ("./works.sh", &["--json"])] {
        let start = ["run", "start", "--yes", "--max-iterations", "2", "--agent-command", agent];
        let mut command = target.samuel(&[&start[..], args].concat());
        command
            .env("SSH_AUTH_SOCK", "/tmp/agent.sock")
            .env("HTTPS_PROXY", format!("http://me:{PASSWORD}@proxy.invalid:3128"))
            .env("http_proxy", "http://proxy.invalid:3128")
            .env("GH_TOKEN", PASSWORD);
        let run = ran(command, LIMIT);
        keeps_it_secret(&target, &run);
        assert_eq!(run.text().matches("quality checks run without HTTPS_PROXY").count(), 1, "{}", run.text());
    }
    assert!(
        target.read("prompt").contains("fatal: https://***@host.invalid/x.git"),
        "{}",
        target.read("prompt")
    );
    let check = target.read("check-env");
    assert!(check.contains("http_proxy=http://proxy.invalid:3128\n") && check.contains("PATH="), "{check}");
    for secret in ["SSH_AUTH_SOCK", "HTTPS_PROXY", "GH_TOKEN", PASSWORD] {
        assert!(!check.contains(secret), "{secret}: {check}");
    }
    // The agent pushes, and reaches its model through the proxy.
    let agent = target.read("agent-env");
    assert!(
        agent.contains("SSH_AUTH_SOCK=") && agent.contains("HTTPS_PROXY=") && !agent.contains("GH_TOKEN")
    );
}
