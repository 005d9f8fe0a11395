//! Escapes from a run: one call of an agent tries each, one after the other, in each sandbox.
//!
//! What a sandbox alone keeps a command from, the probes of `samuel run sandbox check` try
//! (`samuel-core/tests/it/sandbox.rs`, `tests/tests/it/sandbox_oci.rs`). Here is what it takes a run for: the socket of the call, what
//! leads out, what a turn leaves behind, and a check. A sandbox that cannot be used here is skipped with the reason.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::TcpListener,
    process::Command,
    thread,
};

use crate::{
    bench::{Bench, Ran},
    containers::Wall,
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
/// port of the loopback. `$ORIGIN` is the project.
const TOOLS: &str = r#"
ask() { perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => $ENV{SAMUEL_SOCKET}) or die "no socket: $!\n"; $s->autoflush(1); for (@ARGV) { print $s "$_\n"; $a = <$s>; print defined $a ? $a : "closed\n"; }' "$@"; }
out() { perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0]) or die "refused: $!\n"; $ARGV[1] =~ s/\\r\\n/\r\n/g; print $s $ARGV[1]; $s->flush; print while <$s>' "$@"; }
hello="{\"samuel\":\"run/1\",\"token\":\"$SAMUEL_TOKEN\"}"
"#;

escapes! { OF_A_CALL:
    "broker-no-token", r#"ask '{"samuel":"run/1"}'"#, ["E_SOCKET_MESSAGE", "E_SOCKET_TOKEN"];
    "broker-other-token", r#"ask "{\"samuel\":\"run/1\",\"token\":\"$(printf '%064d' 0)\"}""#, ["E_SOCKET_TOKEN"];
    "broker-earlier-token", r#"ask "{\"samuel\":\"run/1\",\"token\":\"$(cat earlier)\"}""#, ["E_SOCKET_TOKEN"];
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
    "nested-agent-files", r#"echo x >> "$ORIGIN/samuel.toml""#, ["Read-only file system"];
    "plan-write", r#"echo x >> "$ORIGIN/.samuel/run/prd.toon""#, ["No such file or directory", "nonexistent directory", "Directory nonexistent"];
    "plan-replace", r#"echo x > /tmp/new; mv -f /tmp/new "$ORIGIN/samuel.toml""#, ["Device or resource busy", "Read-only file system"];
    "plan-read", r#"cat "$ORIGIN/.samuel/run/prd.toon""#, ["No such file or directory"];
    "records-read", r#"ls "$ORIGIN/.samuel/run/logs""#, ["No such file or directory"];
    "plan-rename", r#"mv "$ORIGIN/.samuel" "$ORIGIN/moved""#, ["No such file or directory"];
    "plan-parent", r#"mv "$ORIGIN" "$ORIGIN-moved" && mv "$ORIGIN-moved" "$ORIGIN" && echo in here alone"#, ["Device or resource busy", "Read-only file system", "in here alone"];
    "plan-symlink", r#"ln -s "$ORIGIN/samuel.toml" /tmp/soft; echo x >> /tmp/soft"#, ["Read-only file system"];
    "plan-hard-link", r#"ln "$ORIGIN/samuel.toml" hard"#, ["ross-device link", "Read-only file system", "Operation not permitted"];
    "plan-proc-root", r#"echo x >> "/proc/self/root$ORIGIN/samuel.toml""#, ["Read-only file system"];
    "origin-objects", r#"echo x > "$ORIGIN/.git/objects/planted""#, ["Read-only file system"];
    "origin-refs", r#"echo x > "$ORIGIN/.git/refs/heads/main""#, ["No such file or directory", "nonexistent directory", "Directory nonexistent", "Read-only file system"];
    "origin-hooks", r#"echo x > "$ORIGIN/.git/hooks/post-checkout""#, ["No such file or directory", "nonexistent directory", "Directory nonexistent", "Read-only file system"];
    "origin-config", r#"cat "$ORIGIN/.git/config""#, ["No such file or directory"];
    "mount", r#"mkdir -p m; mount -t tmpfs none m"#, ["ermission denied", "Operation not permitted", "must be superuser"];
    "umount", r#"umount -l "$ORIGIN/samuel.toml""#, ["ermission denied", "Operation not permitted", "must be superuser"];
    "setns", r#"/usr/bin/nsenter --target 1 --net true"#, ["ermission denied", "Operation not permitted"];
    "user-namespace", r#"/usr/bin/unshare --user true"#, ["Operation not permitted", "No space left on device"];
    "ptrace", r#"perl -e 'syscall(101, 16, 1, 0, 0) == 0 or die "$!\n"'"#, ["Operation not permitted"];
    "tcp-direct", r#"perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => "192.0.2.1", PeerPort => 443, Timeout => 5) or die "$!\n"'"#, ["Network is unreachable"];
    "udp-and-dns-direct", r#"perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 17) or die "$!\n"; connect(S, sockaddr_in(53, inet_aton("192.0.2.1"))) or die "$!\n"'"#, ["Network is unreachable"];
    "raw-socket", r#"perl -MSocket -e 'socket(S, PF_INET, SOCK_RAW, 1) or die "$!\n"'"#, ["Operation not permitted"];
    "vsock", r#"perl -MSocket -e 'socket(S, 40, SOCK_STREAM, 0) or die "$!\n"'"#, ["not permitted", "not supported", "ermission denied"];
}

/// The one that is refused when the time for a first line is over, which is 5 s.
const SLOW: &str = "broker-half-a-line";

/// Those that a comparison of tokens refuses.
const TOKENS: &[&str] = &["broker-no-token", "broker-other-token", "broker-earlier-token"];

/// Left behind by the turn, to be started by the next git of the user.
const PLANTS: &str = r#"
cd "$SAMUEL_WORKSPACE"
printf '#!/bin/sh\necho started >> "%s"\n' "$ORIGIN/started" > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
echo "$PWD/nested/.git" > .git/commondir
printf '[core]\n\tfsmonitor = touch %s\n' "$ORIGIN/started" > .git/config.worktree
mkdir -p nested/.git/objects nested/.git/refs; echo 'ref: refs/heads/main' > nested/.git/HEAD
printf '[core]\n\tfsmonitor = touch %s\n' "$ORIGIN/started" > nested/.git/config
echo '* filter=x' > .gitattributes; printf '[filter "x"]\n\tclean = touch %s\n' "$ORIGIN/started" >> .git/config
"#;

/// A project behind a wall, or the reason why there is none.
fn bench(wall: &Wall, more: &str) -> Result<Bench, String> {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let text = format!(
        "version = \"2\"\n[methodology.ralph]\nsandbox = \"{}\"\n{more}\n[sandbox]\n\
         mounts = [\"/usr\"]\negress = [\"localhost:8\"]\n{}\n[sandbox.gateway.test]\nupstream = \"https://localhost:9/v1\"\n\
         header = \"x-api-key\"\nfrom_env = \"TEST_KEY\"\nas_env = \"TEST_URL\"\n",
        wall.sandbox, wall.keys
    );
    bench.write("samuel.toml", &text);
    git(&bench, &["init", "--quiet", "--initial-branch=main"]);
    git(&bench, &["add", "samuel.toml"]);
    git(
        &bench,
        &["-c", "user.name=Ada", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "Start"],
    );
    let checked = ran(&bench, wall, &["run", "start", "--dry-run", "--agent-command", "true"]);
    match checked.stderr.contains("cannot be used") {
        true => Err(checked.stderr.lines().next().unwrap_or_default().to_owned()),
        false => Ok(bench),
    }
}

fn ran(bench: &Bench, wall: &Wall, args: &[&str]) -> Ran {
    let mut command = bench.command(args);
    command.env("TEST_KEY", "sk-part-one-part-two").envs(wall.env().iter().cloned());
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

/// Returns the script that makes all of them, one after the other. The slow one waits for its answer while the others are
/// made, and is told last.
fn tries(escapes: &[Escape]) -> String {
    let (slow, others): (Vec<&Escape>, Vec<&Escape>) = escapes.iter().partition(|one| one.name == SLOW);
    let begun = slow.iter().map(|one| format!("( {}\n) > /tmp/slow 2>&1 &\n", one.script));
    let tries = others.iter().map(|one| format!("echo '=== {}'\n( {}\n) 2>&1\n", one.name, one.script));
    let ended = slow.iter().map(|one| format!("wait\necho '=== {}'\ncat /tmp/slow\n", one.name));
    format!("{TOOLS}{}", begun.chain(tries).chain(ended).collect::<String>())
}

/// Returns those that were not refused in one of their words, each with what was told.
fn not_refused<'a>(escapes: &'a [Escape], log: &str) -> Vec<(&'a str, String)> {
    let told = |name: &str| {
        let from = log.split(&format!("=== {name}\n")).nth(1).unwrap_or_default();
        from.split("\n=== ").next().unwrap_or_default().chars().take(600).collect::<String>()
    };
    let all = escapes.iter().map(|one| (one, told(one.name)));
    let got_out = all.filter(|(one, told)| !one.refused.iter().any(|word| told.contains(word)));
    got_out.map(|(one, told)| (one.name, told)).collect()
}

// Takes about 12 s: in each sandbox a run of two iterations, the second of which makes 46 attempts. docker is tried with
// `SAMUEL_LONG=1`; by default it has the probes of `tests/tests/it/sandbox_oci.rs`.
#[test]
fn no_escape_of_an_agent_succeeds_and_each_has_a_code_of_its_own() {
    for wall in Wall::usual() {
        let sandbox = wall.name;
        let bench = match bench(&wall, "max_iterations = 2") {
            Ok(bench) => bench,
            Err(why) => {
                println!("skipped: {why}");
                continue;
            }
        };
        let plan = bench.tasks();
        // Its first call leaves its token to the second.
        let agent = format!(
            "test -e earlier || {{ echo $SAMUEL_TOKEN > earlier; exit 0; }}\nORIGIN='{}'\n{}{PLANTS}",
            bench.root().display(),
            tries(OF_A_CALL)
        );
        let started = ran(&bench, &wall, &bench.start_args(&agent));
        let files = texts(&bench);
        let mut logs = files.iter().filter(|(path, _)| path.contains("/logs/") && path.ends_with(".out"));
        let log = logs.find(|(_, text)| text.contains("=== ")).map(|(_, text)| text.as_str());
        let log = log.unwrap_or_else(|| panic!("{sandbox}: {started:?}"));
        let got_out = not_refused(OF_A_CALL, log);
        assert!(got_out.is_empty(), "{sandbox}: {got_out:#?}");
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
        git(&bench, &["status"]);
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

/// Stands between an agent and the socket of its call, with the token of the call in place of each that it is told: a
/// socket that compares no token. It takes its own path.
const NO_TOKEN_COMPARED: &str = r#"
perl -MIO::Socket::UNIX -e '
  $listening = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 8) or die "$!\n";
  exit if fork;
  open STDIN, "<", "/dev/null"; open STDOUT, ">", "/dev/null"; open STDERR, ">", "/dev/null";
  while ($agent = $listening->accept) {
    next if fork;
    $run = IO::Socket::UNIX->new(Peer => $ENV{SAMUEL_SOCKET}); $_->autoflush(1) for $agent, $run;
    $first = <$agent>; $first =~ s/,?"token":"[^"]*"//; $first =~ s/}/,"token":"$ENV{SAMUEL_TOKEN}"}/;
    print $run $first; print $agent scalar <$run>;
    while (defined($line = <$agent>)) { print $run $line; print $agent scalar <$run>; }
    exit;
  }' "$PWD/../tmp/between.sock"
export SAMUEL_SOCKET="$PWD/../tmp/between.sock"
"#;

#[test]
fn a_socket_that_compares_no_token_is_seen() {
    let of_tokens: Vec<&Escape> = OF_A_CALL.iter().filter(|one| TOKENS.contains(&one.name)).collect();
    assert_eq!(of_tokens.len(), TOKENS.len());
    for (between, seen) in [("", &[][..]), (NO_TOKEN_COMPARED, TOKENS)] {
        let bench = Bench::with_tasks(&["First"]);
        let scripts =
            of_tokens.iter().map(|one| format!("echo '=== {}'\n( {}\n) 2>&1\n", one.name, one.script));
        let agent =
            format!("echo {} > earlier\n{between}{TOOLS}{}", "1".repeat(64), scripts.collect::<String>());
        let started = bench.start(&agent, &["--max-iterations", "1"]);
        let logs = texts(&bench).into_iter().filter(|(path, _)| path.ends_with(".out"));
        let log: String = logs.map(|(_, text)| text).collect();
        let got_out = not_refused(OF_A_CALL, &log).into_iter().map(|(name, _)| name);
        let got_out: Vec<&str> = got_out.filter(|name| TOKENS.contains(name)).collect();
        assert_eq!(got_out, seen, "{log} {started:?}");
    }
}

// Takes about 6 s: a run in each sandbox; docker is tried with `SAMUEL_LONG=1`.
#[test]
fn a_check_writes_nowhere_but_in_its_tree_and_reaches_no_host_and_no_socket() {
    let check = "read -r P < .git/objects/info/alternates; P=${P%/.git/objects}; \
                 { echo x > $P/out; } 2>&1; { echo x >> $P/samuel.toml; } 2>&1; \
                 env | grep -c -e SAMUEL_TOKEN -e HTTPS_PROXY -e TEST_URL -e TEST_KEY; \
                 perl -MIO::Socket::INET -e 'for (61080, 61081) { IO::Socket::INET->new(PeerAddr => qq(127.0.0.1), PeerPort => $_) or print qq($!\\n) }'; false";
    for wall in Wall::usual() {
        let sandbox = wall.name;
        let checks = format!("max_iterations = 1\nquality_checks = [{check:?}]");
        let Ok(bench) = bench(&wall, &checks).inspect_err(|why| println!("skipped: {why}")) else { continue };
        let started = ran(&bench, &wall, &bench.start_args("$SAMUEL_BINARY run done 1"));
        let files = texts(&bench);
        let told = files.iter().find(|(path, _)| path.contains("-check-")).map(|(_, text)| text.as_str());
        let told = told.unwrap_or_else(|| panic!("{sandbox}: {started:?}"));
        let lines: Vec<&str> = told.lines().collect();
        assert!(!bench.path("out").exists(), "{sandbox}: {told}");
        // What is made beside the project's files goes with the sandbox.
        assert!(
            lines.iter().any(|line| line.contains("samuel.toml: Read-only file system")),
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
fn a_check_reaches_the_hosts_of_check_egress_alone_and_an_agent_none_of_them() {
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = host.local_addr().unwrap();
    thread::spawn(move || {
        for stream in host.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read_exact(&mut [0; 5]);
            let _ = stream.write_all(b"from the host\n");
        }
    });
    let asks = format!(
        r"{TOOLS}out 61080 'CONNECT {address} HTTP/1.1\r\n\r\nhello'; out 61080 'CONNECT localhost:8 HTTP/1.1\r\n\r\n'"
    );
    let mut wall = Wall::bwrap();
    wall.keys = format!("check_egress = [\"{address}\"]");
    let checks = format!("max_iterations = 1\nquality_checks = [{asks:?}]");
    let Ok(bench) = bench(&wall, &checks).inspect_err(|why| println!("skipped: {why}")) else { return };
    let agent = format!("{asks}\n$SAMUEL_BINARY run done 1");
    let started = ran(&bench, &wall, &bench.start_args(&agent));
    let files = texts(&bench);
    let told = |what: &str| {
        let found = files.iter().find(|(path, text)| path.contains(what) && text.contains("HTTP/1.1 "));
        found.map(|(_, text)| text.as_str()).unwrap_or_else(|| panic!("{what}: {started:?} {files:?}"))
    };
    let check = told("-check-");
    assert!(check.contains("from the host") && check.contains("localhost:8: it is not listed"), "{check}");
    let agent = told(".out");
    assert!(!agent.contains("from the host"), "{agent}");
    assert!(agent.contains(&format!("{address}: it is not listed")), "{agent}");
}

// Takes about 8 s: a container of podman fills up; docker is tried with `SAMUEL_LONG=1`.
#[test]
fn a_container_has_no_more_memory_and_processes_than_it_was_given() {
    let agent = "i=0; while test $i -lt 400; do sleep 3 & i=$((i+1)); done 2>&1 | tail -n 1; perl -e '$x = \"a\" x (900 << 20); print length $x' 2>&1; echo ended $?";
    for wall in Wall::usual().into_iter().filter(|wall| wall.sandbox == "oci") {
        let bench = bench(&wall, "max_iterations = 1").inspect_err(|why| println!("skipped: {why}"));
        let Ok(bench) = bench else { continue };
        let started = ran(&bench, &wall, &bench.start_args(agent));
        let log = texts(&bench).into_iter().filter(|(path, _)| path.contains("/logs/")).map(|(_, text)| text);
        let log: String = log.collect();
        assert!(
            log.contains("Resource temporarily unavailable") || log.to_lowercase().contains("fork"),
            "{log} {started:?}"
        );
        assert!(log.contains("ended 137") && log.contains("memory below [sandbox]"), "{log} {started:?}");
    }
}
