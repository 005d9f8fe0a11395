//! A search for 200 secrets of the environment in everything that a run writes and prints. Agents and checks print the
//! secrets, also encoded, and agents record them as learnings, tasks and questions. A value of fewer than 16 bytes in a
//! variable with a plain name is no secret, so none is planted.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::bench::{Bench, Ran, says, wait_for_file};

/// How many secrets there are.
const SECRETS: usize = 200;
/// The commands that show a run.
const SHOWS: &str = "run report|run report --format html|run report --format json|run log|run log --json|\
                     run runs --json|run why run|run why check|run why 2|run status --json|run tasks --json|\
                     run show 1|run prompt|doctor";
/// An agent that is called as claude and prints all values in the directory `$V`. If `$V/kill` exists, it waits to be
/// killed.
const AGENT: &str = r#"cat > /dev/null; id=$SAMUEL_TASK_ID; S=$SAMUEL_BINARY; cd "$SAMUEL_WORKSPACE"
value() { cat "$V/$1"; }
cat "$V/stream" "$V/all"; cat "$V/all" >&2
for n in 0 1 2 3 4 5 6 7 8 9; do "$S" run learn "$(value "$id$n")"; done
"$S" run learn "$(head -n 15 "$V/all")"
if test "$id" = 1; then
  "$S" run enqueue "Use $(value 103)" --description "$(head -n 90 "$V/all")"
  "$S" run ask 4 "Is it $(value 101)?" --option "$(value 100)" --option no
fi
if test "$id" = 3; then "$S" run block 3 --reason "no $(value 112)"; exit; fi
echo "$id" > "work-$id"
if test -e "$V/kill"; then mv "$V/kill" "$V/reached"; sleep 60; fi
"$S" run done "$id"
if test "$id" = 2; then tail -n 3 "$V/all" >&2; exit 1; fi
"#;

/// A variable, and the part of its value that is a secret.
struct Secret {
    name: String,
    value: String,
    hidden: String,
    /// The beginning of what is random in it.
    random: String,
}

fn secret(n: usize) -> Secret {
    let digest = Sha256::digest(format!("secret {n}"));
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let base64 = base64(&digest);
    let whole = |name: String, value: String| (name, value.clone(), value);
    let within = |name: String, before: &str, hidden: &str, after: &str| {
        (name, format!("{before}{hidden}{after}"), hidden.to_owned())
    };
    let (name, value, hidden) = match n % 10 {
        0 => whole(format!("API_KEY_{n}"), hex.clone()),
        1 => whole(format!("SERVICE_{n}_TOKEN"), base64),
        2 => whole(format!("DB_{n}_PASSWORD"), format!("p\"{}' $%/\\é", &hex[..16])),
        3 => whole(
            format!("APP_{n}_SECRET"),
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32]].join("-"),
        ),
        4 => within(format!("STORE_{n}_URL"), "postgres://app:", &hex[..24], "@db.example.com/app"),
        5 => within(format!("TEAM{n}_PROXY"), "http://me:", &hex[..24], "@proxy.example.com:3128"),
        6 => whole(
            format!("SIGNING_{n}_KEY"),
            format!("-----BEGIN PRIVATE KEY-----\n{hex}\n{base64}\n-----END PRIVATE KEY-----"),
        ),
        7 => whole(format!("ACCOUNT_{n}_CREDENTIALS"), json!({ "client": "app", "key": hex }).to_string()),
        8 => whole(format!("FLAG_{n}"), hex[..40].to_owned()),
        _ => within(format!("HOOK_{n}"), "https://hooks.example.com/services/", &hex[..32], ""),
    };
    Secret { name, value, hidden, random: hex[..16].to_owned() }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = bytes.chunks(3).flat_map(|part| {
        let byte = |n: usize| u32::from(part.get(n).copied().unwrap_or_default());
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        let digit = move |n: usize| char::from(DIGITS[(bits >> (18 - 6 * n)) as usize & 63]);
        let count = part.len();
        (0..4).map(move |n| if n <= count { digit(n) } else { '=' })
    });
    digits.collect()
}

fn percent_encoded(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

/// Writes what the agent and the checks print, and the patterns to search for, into a directory.
fn write_values(secrets: &[Secret], directory: &Path) {
    let (mut all, mut stream, mut patterns) = (String::new(), String::new(), Vec::new());
    for (n, Secret { value, hidden, random, .. }) in secrets.iter().enumerate() {
        fs::write(directory.join(n.to_string()), value).unwrap();
        let (base64, encoded) = (base64(hidden.as_bytes()), percent_encoded(hidden));
        all += &format!("{value}\n{base64}\n{encoded}\n");
        let mut input = json!({ "command": format!("curl -H '{value}' {encoded}") });
        input[value.as_str()] = value.as_str().into();
        let id = format!("call-{n}");
        let content = json!([
            { "type": "text", "text": format!("I have {value} and {base64}") },
            { "type": "tool_use", "id": id, "name": "Bash", "input": input },
        ]);
        let call = json!({ "type": "assistant", "message": { "id": "m", "content": content } });
        let content =
            json!([{ "type": "tool_result", "tool_use_id": id, "content": format!("got {value}") }]);
        let result = json!({ "type": "user", "message": { "content": content } });
        stream += &format!("{call}\n{result}\n");
        patterns.extend(hidden.lines().filter(|line| !line.starts_with("-----")).map(str::to_owned));
        patterns.extend([base64, encoded, random.clone()]);
    }
    for (name, text) in [("all", all), ("stream", stream), ("patterns", patterns.join("\n"))] {
        fs::write(directory.join(name), text).unwrap();
    }
}

/// Searches directories next to the project for the patterns.
fn search(bench: &Bench, directories: &[&str]) -> Output {
    let mut command = Command::new("grep");
    command.args(["-raoF", "-f", "values/patterns"]).args(directories).env("LC_ALL", "C");
    command.current_dir(bench.root().parent().unwrap()).output().unwrap()
}

/// Makes a run that has the secrets, or one that is killed and continues, and searches everything that it left.
fn leaves_no_secret(jobs: &str, is_killed: bool) {
    let bench = Bench::with_tasks(&["First", "Second", "Third", "Fourth"]);
    let [values, told] = ["values", "told"].map(|name| bench.root().with_file_name(name));
    fs::create_dir(&values).unwrap();
    fs::create_dir(&told).unwrap();
    let secrets: Vec<Secret> = (0..SECRETS).map(secret).collect();
    write_values(&secrets, &values);
    let check = json!(format!("cat '{}/all'; test \"$SAMUEL_TASK_ID\" != 2", values.display()));
    bench.configure(&format!("agent = \"claude\"\nquality_checks = [{check}]"));
    bench.make_repository(&["samuel.toml"]);
    let program = bench.tmp().join("claude");
    fs::write(&program, format!("#!/bin/sh\nV='{}'\n{AGENT}", values.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let start = || {
        let form = if is_killed { "--json" } else { "--verbose" };
        let args = ["run", "start", "--yes", "--pause", "0", "--max-iterations", "4", "--jobs", jobs, form];
        let mut command = bench.command(&args);
        command.env("PATH", format!("{}:/usr/bin:/bin", bench.tmp().display()));
        command.envs(secrets.iter().map(|secret| (&secret.name, &secret.value)));
        command
    };
    if is_killed {
        fs::write(values.join("kill"), "").unwrap();
        let file = File::create(told.join("killed")).unwrap();
        let mut killed = start().stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        wait_for_file(&values.join("reached"));
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    let mut text = Ran::of(start()).text();
    for line in SHOWS.split('|') {
        text += &bench.samuel(&line.split(' ').collect::<Vec<_>>()).text();
    }
    text += &bench.git(&["log", "--all", "--patch"]);
    fs::write(told.join("text"), &text).unwrap();
    // The run recorded what was printed, and the search finds values.
    says(&text, &["I have *** and ***", "got ***", "Use ***"]);
    assert!(text.matches("***").count() > 10 * SECRETS, "{text}");
    assert_eq!(bench.status("1"), "completed", "{text}");
    assert!(search(&bench, &["values"]).status.success());
    let found = search(&bench, &["project", "home", "tmp", "told"]);
    let shown = [found.stdout, found.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(found.status.code(), Some(1), "jobs = {jobs}, killed: {is_killed}: {}", shown.concat());
}

// Takes about 10 s: two runs of four iterations, one of them killed and continued. With `SAMUEL_LONG=1` four.
#[test]
fn no_file_or_output_of_runs_holds_secrets() {
    leaves_no_secret("1", true);
    leaves_no_secret("2", false);
    if std::env::var_os("SAMUEL_LONG").is_some() {
        leaves_no_secret("1", false);
        leaves_no_secret("2", true);
    }
}
