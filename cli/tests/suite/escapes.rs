//! Escapes from a run: one call of an agent tries each, one after the other, in each sandbox.
//!
//! What a sandbox alone keeps a command from, the probes of `samuel run sandbox check` try
//! (`samuel-core/tests/sandbox.rs`, `sandbox_oci.rs`). Here is what it takes a run for: the socket of the call, what
//! leads out, what a turn leaves behind, and a check. A sandbox that cannot be used here is skipped with the reason.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]

use std::{collections::BTreeMap, process::Command};

use crate::{
    bench::{Bench, Ran},
    containers,
};

/// What an agent tries, and in which words it is refused.
struct Escape {
    name: &'static str,
    script: &'static str,
    /// One of these is told.
    refused: &'static [&'static str],
}

/// A table of escapes.
macro_rules! escapes {
    ($table:ident: $($name:literal, $script:literal, [$($refused:literal),+];)+) => {
        const $table: &[Escape] = &[$(Escape { name: $name, script: $script, refused: &[$($refused),+] }),+];
    };
}

/// What the scripts of escapes call: `ask LINE...` says lines to the socket of the call, `out PORT TEXT` something to a
/// port of the loopback.
const TOOLS: &str = r#"
ask() { perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => $ENV{SAMUEL_SOCKET}) or die "no socket: $!\n"; $s->autoflush(1); for (@ARGV) { print $s "$_\n"; $a = <$s>; print defined $a ? $a : "closed\n"; }' "$@"; }
out() { perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0]) or die "refused: $!\n"; $ARGV[1] =~ s/\\r\\n/\r\n/g; print $s $ARGV[1]; $s->flush; print while <$s>' "$@"; }
hello="{\"samuel\":\"run/1\",\"token\":\"$SAMUEL_TOKEN\"}"
"#;

escapes! { OF_A_CALL:
    "broker-no-token", r#"ask '{"samuel":"run/1"}'"#, ["E_SOCKET_MESSAGE", "E_SOCKET_TOKEN"];
    "broker-other-token", r#"ask "{\"samuel\":\"run/1\",\"token\":\"$(printf '%064d' 0)\"}""#, ["E_SOCKET_TOKEN"];
    "broker-other-version", r#"ask "{\"samuel\":\"run/9\",\"token\":\"$SAMUEL_TOKEN\"}""#, ["E_SOCKET_VERSION"];
    "broker-other-user", r#"perl -e '$! = 0; $> = 65534; die "$!\n" if $!; exec @ARGV' -- sh -c 'exit 0'"#, ["Operation not permitted", "Invalid argument"];
    "broker-verb-of-people", r#"ask "$hello" '{"id":1,"stop":{}}'"#, ["E_SOCKET_SCOPE"];
    "broker-verb-of-the-runtime", r#"ask "$hello" '{"id":1,"mutate":{"type":"start","id":"2"}}'"#, ["E_BROKER_VERB", "E_SOCKET_MESSAGE"];
    "broker-edit", r#"$SAMUEL_BINARY run edit 2 --title Other"#, ["error: "];
    "broker-other-task", r#"ask "$hello" '{"id":1,"mutate":{"type":"done","id":"2"}}'"#, ["E_BROKER_SCOPE"];
    "broker-long-line", r#"perl -MIO::Socket::UNIX -e '$SIG{PIPE} = "IGNORE"; $s = IO::Socket::UNIX->new(Peer => $ENV{SAMUEL_SOCKET}); $s->autoflush(1); print $s "$ARGV[0]\n"; <$s>; print $s "{\"id\":1,\"plan\":{\"from\":" . ("0" x 2000000) . "}}\n"; $a = <$s>; print $a // "closed\n"' "$hello""#, ["E_SOCKET_TOO_LARGE", "closed"];
    "broker-flood", r#"perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => $ENV{SAMUEL_SOCKET}); $s->autoflush(1); print $s "$ARGV[0]\n"; <$s>; for (1 .. 1000) { print $s "{\"id\":$_,\"plan\":{\"from\":999999}}\n"; $a = <$s>; if ($a =~ /E_BROKER_RATE/) { print $a; exit } }' "$hello""#, ["E_BROKER_RATE"];
    "broker-half-a-line", r#"perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => $ENV{SAMUEL_SOCKET}); $s->autoflush(1); print $s "{\"samuel\":"; $a = <$s>; print $a // "closed\n"'"#, ["E_SOCKET_TIMEOUT", "closed"];
    "broker-token-of-others", r#"cat /run/samuel/token"#, ["No such file or directory"];
    "lifeline-twice", r#"perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => "/run/samuel/life.sock") or die "$!\n"'"#, ["No such file or directory", "Connection refused"];
    "hosts-unlisted", r#"out 61080 'CONNECT other.example:443 HTTP/1.1\r\n\r\n'"#, ["HTTP/1.1 403 "];
    "hosts-name-that-leads-inside", r#"out 61080 'CONNECT localhost:8 HTTP/1.1\r\n\r\n'"#, ["within this machine or its network"];
    "hosts-address", r#"out 61080 'CONNECT 127.0.0.1:8 HTTP/1.1\r\n\r\n'"#, ["HTTP/1.1 403 "];
    "hosts-address-of-the-cloud", r#"out 61080 'GET http://169.254.169.254/ HTTP/1.1\r\n\r\n'"#, ["HTTP/1.1 403 "];
    "hosts-port-22", r#"out 61080 'CONNECT localhost:22 HTTP/1.1\r\n\r\n'"#, ["HTTP/1.1 403 "];
    "hosts-second-host-field", "out 61080 'GET http://localhost:8/ HTTP/1.1\\r\\nX: y\nHost: other.example\\r\\n\\r\\n'", ["HTTP/1.1 400 "];
    "gateway-other-host", r#"out 61081 'GET http://other.example/v1/x HTTP/1.1\r\n\r\n'"#, ["HTTP/1.1 400 "];
    "gateway-connect", r#"out 61081 'CONNECT other.example:443 HTTP/1.1\r\n\r\n'"#, ["HTTP/1.1 405 "];
    "gateway-elsewhere", r#"out 61081 'GET /v1/../secrets HTTP/1.1\r\n\r\n'"#, ["HTTP/1.1 403 "];
    "gateway-own-key", r#"out 61081 'GET /v1/x?key=AIzaMine HTTP/1.1\r\n\r\n'"#, ["HTTP/1.1 403 "];
    "gateway-real-key", r#"cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2> /dev/null | tr '\0' '\n' | grep 'sk-part-one-[p]art-two' || echo no key"#, ["no key"];
    "nested-agent-files", r#"echo x >> "$SAMUEL_PROJECT_ROOT/samuel.toml""#, ["Read-only file system"];
}

/// Left behind by the turn, to be started by the next git of the user.
const PLANTS: &str = r#"
cd "$SAMUEL_WORKSPACE"
printf '#!/bin/sh\necho started >> "%s"\n' "$SAMUEL_PROJECT_ROOT/started" > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
echo "$PWD/nested/.git" > .git/commondir
printf '[core]\n\tfsmonitor = touch %s\n' "$SAMUEL_PROJECT_ROOT/started" > .git/config.worktree
mkdir -p nested/.git/objects nested/.git/refs; echo 'ref: refs/heads/main' > nested/.git/HEAD
printf '[core]\n\tfsmonitor = touch %s\n' "$SAMUEL_PROJECT_ROOT/started" > nested/.git/config
echo '* filter=x' > .gitattributes; printf '[filter "x"]\n\tclean = touch %s\n' "$SAMUEL_PROJECT_ROOT/started" >> .git/config
"#;

/// The sandboxes that can be tried out, each with its keys in samuel.toml. Another engine is another row.
fn walls() -> Vec<(&'static str, String, &'static str)> {
    let mut walls = vec![("bwrap", String::new(), "")];
    match containers::image() {
        Ok(image) => {
            walls.push(("oci", format!("image = \"{image}\"\nmemory = \"512m\"\npids = 256"), "podman"))
        }
        Err(why) => println!("skipped: podman: {why}"),
    }
    walls
}

/// A project of one of them, or the reason why there is none.
fn bench(sandbox: &str, keys: &str, engine: &str, more: &str) -> Result<Bench, String> {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let text = format!(
        "version = \"2\"\n[methodology.ralph]\nsandbox = \"{sandbox}\"\nmax_iterations = 1\n{more}\n[sandbox]\nscope = \"task\"\n\
         mounts = [\"/usr\"]\negress = [\"localhost:8\"]\n{keys}\n[sandbox.gateway.test]\nupstream = \"https://localhost:9/v1\"\n\
         header = \"x-api-key\"\nfrom_env = \"TEST_KEY\"\nas_env = \"TEST_URL\"\n"
    );
    bench.write("samuel.toml", &text);
    git(&bench, &["init", "--quiet", "--initial-branch=main"]);
    git(&bench, &["add", "samuel.toml"]);
    git(
        &bench,
        &["-c", "user.name=Ada", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "Start"],
    );
    let checked = ran(&bench, engine, &["run", "start", "--dry-run", "--agent-command", "true"]);
    match checked.stderr.contains("cannot be used") {
        true => Err(checked.stderr.lines().next().unwrap_or_default().to_owned()),
        false => Ok(bench),
    }
}

fn ran(bench: &Bench, engine: &str, args: &[&str]) -> Ran {
    let mut command = bench.command(args);
    command.env("TEST_KEY", "sk-part-one-part-two").env("SAMUEL_GUEST", containers::guest());
    if !engine.is_empty() {
        command.env("SAMUEL_RUNTIME", engine);
    }
    Ran::of(command)
}

fn git(bench: &Bench, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(bench.root()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the text of all files below a directory of the project, those of logs among them.
fn texts(bench: &Bench) -> BTreeMap<String, String> {
    let shown = |(path, bytes): (std::path::PathBuf, Vec<u8>)| {
        (path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned())
    };
    bench.files().into_iter().map(shown).collect()
}

#[test]
fn no_escape_of_an_agent_succeeds_and_each_has_a_code_of_its_own() {
    for (sandbox, keys, engine) in walls() {
        let bench = match bench(sandbox, &keys, engine, "") {
            Ok(bench) => bench,
            Err(why) => {
                println!("skipped: {why}");
                continue;
            }
        };
        let plan = bench.tasks();
        let tries =
            OF_A_CALL.iter().map(|one| format!("echo '=== {}'\n( {}\n) 2>&1\n", one.name, one.script));
        let agent = format!("{TOOLS}{}{PLANTS}", tries.collect::<String>());
        let started = ran(&bench, engine, &bench.start_args(&agent));
        let files = texts(&bench);
        let log = files.iter().find(|(path, _)| path.contains("/logs/") && path.ends_with(".out"));
        let log = log.map(|(_, text)| text.as_str()).unwrap_or_else(|| panic!("{sandbox}: {started:?}"));
        let told = |name: &str| {
            let from = log.split(&format!("=== {name}\n")).nth(1).unwrap_or_default();
            from.split("\n=== ").next().unwrap_or_default().to_owned()
        };
        for Escape { name, refused, .. } in OF_A_CALL {
            let told = told(name);
            assert!(refused.iter().any(|word| told.contains(word)), "{sandbox}: {name}: {told:.600}");
        }
        // Refusals are logged: those of the socket with their codes, those of hosts as warnings.
        let journal = bench.read(".samuel/run/journal.jsonl");
        for code in ["E_SOCKET_TOKEN", "E_SOCKET_SCOPE", "E_BROKER_SCOPE", "E_BROKER_RATE"] {
            assert!(journal.contains(code), "{sandbox}: {code} is not in the journal");
        }
        let warned = format!("{}{}", started.stdout, started.stderr);
        for host in [
            "other.example:443 was not reached",
            "localhost:8 was not reached",
            "gateway test (localhost:9) was not reached",
        ] {
            assert!(warned.contains(host), "{sandbox}: {host}: {warned}");
        }
        // Nothing of the plan and the tree is other than before, and what was planted starts nothing.
        let settled =
            |tasks: &[serde_json::Value]| tasks.iter().map(|task| task["title"].clone()).collect::<Vec<_>>();
        assert_eq!(settled(&bench.tasks()), settled(&plan), "{sandbox}");
        assert_eq!(bench.status("2"), "pending", "{sandbox}");
        assert_eq!(git(&bench, &["status", "--porcelain", "--", "samuel.toml"]), "", "{sandbox}");
        assert!(!bench.path("started").exists() && !bench.path("nested").exists(), "{sandbox}");
        assert!(files.values().any(|text| text.contains("E_WORKSPACE_PLANTED")), "{sandbox}: {started:?}");
        let key = "sk-part-one-part-two";
        let told_by = files.iter().find(|(_, text)| text.contains(key)).map(|(path, _)| path);
        assert_eq!(
            (told_by, warned.contains(key)),
            (None, false),
            "{sandbox}: the key is in no file and no word"
        );
    }
}

#[test]
fn a_check_writes_nowhere_but_in_its_tree_and_reaches_no_host_and_no_socket() {
    let check = "{ echo x > $SAMUEL_PROJECT_ROOT/out; } 2>&1; { echo x >> $SAMUEL_PROJECT_ROOT/.samuel/run/prd.toon; } 2>&1; \
                 env | grep -c -e SAMUEL_TOKEN -e HTTPS_PROXY -e TEST_URL -e TEST_KEY; \
                 perl -MIO::Socket::INET -e 'for (61080, 61081) { IO::Socket::INET->new(PeerAddr => qq(127.0.0.1), PeerPort => $_) or print qq($!\\n) }'; false";
    for (sandbox, keys, engine) in walls() {
        let checks = format!("quality_checks = [{check:?}]");
        let Ok(bench) = bench(sandbox, &keys, engine, &checks).inspect_err(|why| println!("skipped: {why}"))
        else {
            continue;
        };
        let started = ran(&bench, engine, &bench.start_args("$SAMUEL_BINARY run done 1"));
        let files = texts(&bench);
        let told = files.iter().find(|(path, _)| path.contains("-check-")).map(|(_, text)| text.as_str());
        let told = told.unwrap_or_else(|| panic!("{sandbox}: {started:?}"));
        let lines: Vec<&str> = told.lines().collect();
        assert!(!bench.path("out").exists(), "{sandbox}: {told}");
        // What is made beside the project's files goes with the sandbox.
        assert!(
            lines.iter().any(|line| line.contains("prd.toon: Read-only file system")),
            "{sandbox}: {told}"
        );
        assert_eq!(
            lines.iter().filter(|line| line.contains("Connection refused")).count(),
            2,
            "{sandbox}: {told}"
        );
        assert!(lines.contains(&"0"), "{sandbox}: no token, no proxy, no key: {told}");
    }
}

#[test]
fn a_container_has_no_more_memory_and_processes_than_it_was_given() {
    let agent = "i=0; while test $i -lt 400; do sleep 3 & i=$((i+1)); done 2>&1 | tail -n 1; perl -e '$x = \"a\" x (900 << 20); print length $x' 2>&1; echo ended $?";
    for (sandbox, keys, engine) in walls().into_iter().filter(|(sandbox, ..)| *sandbox == "oci") {
        let Ok(bench) = bench(sandbox, &keys, engine, "").inspect_err(|why| println!("skipped: {why}"))
        else {
            continue;
        };
        let started = ran(&bench, engine, &bench.start_args(agent));
        let log = texts(&bench).into_iter().filter(|(path, _)| path.contains("/logs/")).map(|(_, text)| text);
        let log: String = log.collect();
        assert!(
            log.contains("Resource temporarily unavailable") || log.to_lowercase().contains("fork"),
            "{log} {started:?}"
        );
        assert!(log.contains("ended 137") && log.contains("memory below [sandbox]"), "{log} {started:?}");
    }
}
