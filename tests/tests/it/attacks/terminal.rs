//! Text of others on a terminal: what a clone, an agent, a plugin or a command
//! line brings along gives the terminal no orders and hides nothing.
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{Read, Write},
    os::unix::{ffi::OsStringExt, process::CommandExt},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{OptionalActions, tcgetattr, tcsetattr},
};

use crate::attacks::kit::{Target, git, kill_group, manifest, ran};

/// How long a command may take beside others that are tested at the same time.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Orders of a terminal: set the clipboard, link to elsewhere, clear, a device
/// control string, the same with one character, write over, delete; and
/// characters that turn text around or cannot be seen.
const ORDERS: &str = "\u{1b}]52;c;YQ==\u{7}\u{1b}]8;;http://x\u{1b}\\\u{1b}[2J\u{1b}Pq\u{1b}\\\u{9b}2J\u{9d}0;x\u{9c}\r\u{8}\u{7f}\u{202e}\u{2066}\u{200b}a\u{200d}b\u{feff}\u{ad}\u{e0041}\u{2028}";

/// The same without what a name in git's files cannot hold.
const UNSEEN: &str = "\u{9b}2J\u{202e}\u{200b}\u{feff}";

/// What a command left on its terminal.
pub(crate) struct Shown {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hung: bool,
    /// The exit code; nothing where it was killed.
    pub(crate) code: Option<i32>,
}

impl Shown {
    /// Names the first thing that acts on a terminal, with what stands before it.
    fn order(&self) -> Option<String> {
        order_in(&self.bytes)
    }
}

fn order_in(bytes: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Some("no UTF-8".to_owned()) };
    let at = text.char_indices().find(|(_, c)| acts(*c))?.0;
    let from = text.floor_char_boundary(at.saturating_sub(60));
    Some(format!("{:?}", &text[from..text.ceil_char_boundary(at + 20)]))
}

/// Says whether a character acts on a terminal or cannot be seen; a list of its
/// own, so that it is not the one that is tested.
fn acts(c: char) -> bool {
    let unseen = ['\u{ad}', '\u{61c}', '\u{180e}', '\u{feff}', '\u{2028}', '\u{2029}'];
    let ranges = ['\u{200b}'..='\u{200b}', '\u{200e}'..='\u{200f}', '\u{202a}'..='\u{202e}'];
    !matches!(c, '\n' | '\t') && c.is_control()
        || unseen.contains(&c)
        || ranges.iter().any(|range| range.contains(&c))
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
}

/// Runs a command at a terminal of its own that hands on every byte; a question
/// is answered with no.
fn at_terminal(command: Command) -> Shown {
    answered(command, "n")
}

/// Opens a terminal: the end of whoever watches, and that of a command.
pub(crate) fn terminal() -> (File, File) {
    let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&main).unwrap();
    unlockpt(&main).unwrap();
    let name = ptsname(&main, Vec::new()).unwrap().into_string().unwrap();
    let other = File::options().read(true).write(true).open(name).unwrap();
    (main.into(), other)
}

/// Does the same with another answer.
pub(crate) fn answered(mut command: Command, answer: &str) -> Shown {
    let (mut main, slave) = terminal();
    let mut modes = tcgetattr(&slave).unwrap();
    modes.make_raw();
    tcsetattr(&slave, OptionalActions::Now, &modes).unwrap();
    let end = || Stdio::from(slave.try_clone().unwrap());
    command.stdin(end()).stdout(end()).stderr(end()).process_group(0);
    let mut child = command.spawn().unwrap();
    drop((command, slave));
    main.write_all(format!("{answer}\n").as_bytes()).unwrap();
    let reader = thread::spawn(move || {
        let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
        // The read fails once the command has closed its end.
        while let Ok(count @ 1..) = main.read(&mut piece) {
            bytes.extend_from_slice(&piece[..count]);
        }
        bytes
    });
    let deadline = Instant::now() + LIMIT;
    let mut hung = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            hung = true;
            kill_group(&child);
        }
        thread::sleep(Duration::from_millis(2));
    };
    Shown { bytes: reader.join().unwrap(), hung, code: status.code() }
}

/// Writes a text as TOML writes one, with escapes for all that is not printed.
fn toml(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_graphic() && !matches!(c, '"' | '\\') {
                c.to_string()
            } else {
                format!("\\U{:08x}", u32::from(c))
            }
        })
        .collect();
    format!("\"{escaped}\"")
}

/// Writes a text as a shell's word.
fn word(text: &str) -> String {
    format!("'{text}'")
}

/// A project in which everything that can hold a text holds orders.
fn hostile() -> Target {
    let target = Target::with_tasks(&["TITLE: a"]);
    git(&target.root(), &["init", "--quiet", "--initial-branch=main"]);
    target.write(".git/HEAD", format!("ref: refs/heads/{UNSEEN}\n"));
    for id in ["SKIPPED", "LAST"] {
        let title = format!("TITLE: {id}");
        target.ok(&["run", "task", "add", id, &title, "--description", "TEXT: b"]);
    }
    target.ok(&["run", "skip", "SKIPPED", "--reason", "REASON: c"]);
    change_plan(&target, |mut plan| {
        plan = plan.replace("name: project", &format!("name: \"{}\"", cell(ORDERS)));
        for word in ["TITLE: ", "TEXT: ", "REASON: "] {
            plan = plan.replace(word, &format!("{word}{}", cell(&one_line(ORDERS))));
        }
        plan
    });
    let learned = format!("[2026-11-21T10:00:00Z] [task:1] LEARNING: {}\n", ORDERS.replace('\r', ""));
    target.write(".samuel/run/progress.md", learned);
    let named = |name: &str| format!("{name}{}", ORDERS.replace('/', ""));
    target.write(&named("src "), "// TODO: x\n");
    target.write(&named("dir "), "x");
    target.write("AGENTS.md", format!("# {ORDERS}\n"));
    target.write("data.json", format!("{{\"{UNSEEN}\": \"{UNSEEN}\u{7f}\", \"b\": \"\\u001b[2J\"}}\n"));
    target.write("data.toon", format!("\"{0}\": \"{0}\"\n", cell(ORDERS)));
    target.write("bad.toon", [b"a[2]{b,c}:\n  1,".as_slice(), ORDERS.as_bytes(), b"\xff\n  x\n"].concat());
    target.write(
        "prd.md",
        format!("# Product {ORDERS}\n\n## Tasks\n\n- [ ] 1.0 Do {ORDERS}\n  - [ ] 1.1 Part {ORDERS}\n"),
    );
    for (name, code) in [("agent.sh", 0), ("fails.sh", 1)] {
        let says = format!("printf '%s\\n' {0} {0} >&2\nprintf '%s\\n' {0}", word(ORDERS));
        target.program(name, &format!("#!/bin/sh\ncat > /dev/null\n{says}\nexit {code}\n"));
    }
    target.program("check.sh", &format!("#!/bin/sh\nprintf '%s\\377\\n' {}\nexit 1\n", word(ORDERS)));
    plugin(
        &target,
        "talks",
        "before:iteration",
        "cat > /dev/null; printf '%s' '{\"ok\": true, \"text\": [{\"content\": \"ORDERS\"}]}'",
    );
    plugin(&target, "breaks", "session.start", &format!("printf '%s\\n' {} >&2; exit 3", word(ORDERS)));
    configure(&target, "");
    for name in ["talks", "breaks"] {
        target.ok(&["install", "--yes", &format!("plugins/{name}")]);
    }
    plugin(&target, "asks", "quality.check", "echo '{\"ok\": true}'");
    target
}

/// Gives tasks ids and dependencies that Samuel itself would refuse.
fn with_bad_ids(target: &Target) {
    change_plan(target, |plan| {
        let after = cell(&serde_json::to_string(&[ORDERS]).unwrap());
        let (first, rest) = plan.split_once("LAST,").unwrap();
        let rest = rest.replacen("\"[]\"", &format!("\"{after}\""), 1);
        format!("{first}\"LAST{}\",{rest}", cell(ORDERS))
    });
}

fn change_plan(target: &Target, change: impl FnOnce(String) -> String) {
    target.write(".samuel/run/prd.toon", change(target.read(".samuel/run/prd.toon")));
}

/// Writes a text as it stands between the quotes of a cell.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\r', "\\r")
}

/// Leaves out what ends a line.
fn one_line(text: &str) -> String {
    text.replace(['\r', '\u{2028}'], "")
}

fn configure(target: &Target, more: &str) {
    let orders = toml(ORDERS);
    target.write(
        "samuel.toml",
        format!(
            "version = \"2\"\n# {UNSEEN}\n[project]\nname = {orders}\n[methodology.ralph]\npause = \"0s\"\n\
             max_iterations = 2\nquality_checks = [\"./check.sh\", {}]\nagent_args = [{orders}]\n[guardrails]\n\
             commit_convention = {orders}\nextra = [{orders}]\n{more}",
            toml(&format!("echo {}", word(ORDERS)))
        ),
    );
}

/// Writes the source of a plugin whose texts are orders.
fn plugin(target: &Target, name: &str, point: &str, script: &str) {
    let orders = toml(ORDERS);
    let asks = "[capabilities]\nenv = { targets = [\"ANY\"], reason = ORDERS }\n".replace("ORDERS", &orders);
    let answer = serde_json::to_string(ORDERS).unwrap();
    let script = script.replace("ORDERS", answer.trim_matches('"'));
    target.program(&format!("plugins/{name}/hook.sh"), &format!("#!/bin/sh\n{script}\n"));
    let tables = format!("description = {orders}\n{asks}[hooks]\n\"{point}\" = \"hook.sh\"\n");
    target.write(&format!("plugins/{name}/samuel-plugin.toml"), manifest("skill", name, &tables));
}

/// Splits command lines, at commas, into their words.
fn lines(lines: &str) -> Vec<Vec<OsString>> {
    lines.split(", ").map(|line| line.split(' ').map(OsString::from).collect()).collect()
}

/// Every verb that shows text of the project.
fn of_project() -> Vec<Vec<OsString>> {
    let mut all = lines(
        "run, run status, run tasks, run prompt --yes, run vars --yes, \
         run start --yes --agent-command ./agent.sh --dry-run, run start --yes --agent-command ./agent.sh, \
         run start --yes --agent-command ./agent.sh --profile, run start --yes --agent-command ./fails.sh, \
         run start --agent-command ./agent.sh, run done LAST, run reset LAST, run skip LAST --reason ORDERS, \
         run enqueue ORDERS, run convert prd.md --force, sync --dry-run --yes, doctor, doctor --hooks, \
         hooks show before:iteration, ls, info talks, verify, install plugins/asks, \
         plugin validate plugins/asks, plugin test plugins/talks, plugin test plugins/breaks, \
         toon encode data.json, toon decode data.toon, toon check bad.toon, toon recover bad.toon, \
         toon decode bad.toon",
    );
    for line in &mut all {
        let is_title = line.iter().any(|word| word == "enqueue");
        for word in line.iter_mut().filter(|word| **word == "ORDERS") {
            *word = if is_title { one_line(ORDERS).into() } else { ORDERS.into() };
        }
    }
    all
}

/// Every verb that shows the plan.
fn of_plan() -> Vec<Vec<OsString>> {
    lines(
        "run, run status, run tasks, run prompt --yes, run vars --yes, run start --yes --agent-command ./agent.sh, \
         run start --yes --agent-command ./agent.sh --dry-run, doctor --fix",
    )
}

/// Command lines that are orders themselves, not all of them text.
fn of_arguments() -> Vec<Vec<OsString>> {
    let raw = OsString::from_vec([b"\xff\xfe".as_slice(), ORDERS.as_bytes(), b"\x9b2J"].concat());
    let before = lines(
        "run, run done, run status, run enqueue x --priority, run start --pause, run start --agent-command, \
         -C, install, info, hooks show, toon decode, plugin new",
    );
    let before: Vec<Vec<OsString>> = before.into_iter().chain([Vec::new()]).collect();
    let with = |last: &OsStr| -> Vec<Vec<OsString>> {
        before.iter().map(|before| [&before[..], &[last.to_owned()]].concat()).collect()
    };
    [with(OsStr::new(ORDERS)), with(&raw)].concat()
}

fn tried(target: &Target, lines: Vec<Vec<OsString>>) -> usize {
    let mut count = 0;
    for line in lines {
        for json in [false, true] {
            let mut command = target.samuel(&[]);
            // Nothing is drawn: what is drawn has a test of its own.
            command.env("TERM", "dumb").env("LC_ALL", "C.UTF-8");
            if json {
                command.arg("--json");
            }
            let shown = at_terminal({
                command.args(&line);
                command
            });
            assert!(!shown.hung, "{line:?} hung");
            assert_eq!(shown.order(), None, "{line:?} json: {json}");
            assert!(!shown.bytes.is_empty(), "{line:?} shows nothing");
            count += 1;
        }
    }
    count
}

// Takes about 14 s: about 140 commands at a terminal, 14 of which start a run.
#[test]
fn no_text_of_a_project_or_a_command_line_gives_a_terminal_orders() {
    let of_arguments = thread::spawn(|| tried(&Target::with_tasks(&["x"]), of_arguments()));
    let mut count = tried(&hostile(), of_project());
    let target = hostile();
    with_bad_ids(&target);
    count += tried(&target, of_plan());
    count += of_arguments.join().unwrap();
    assert!(count >= 76, "{count}");
}

#[test]
fn no_file_that_cannot_be_read_gives_a_terminal_orders() {
    let target = hostile();
    let key = toml(ORDERS);
    let configs: [Vec<u8>; 5] = [
        format!("version = \"2\"\n{key} = 1\n").into_bytes(),
        format!("version = {key}\n").into_bytes(),
        format!("version = \"2\"\n# {UNSEEN}\nx = [{UNSEEN}\n").into_bytes(),
        format!("version = \"2\"\n[methodology.ralph]\nagent = {key}\n").into_bytes(),
        [b"version = \"2\"\n# ".as_slice(), ORDERS.as_bytes(), b"\xff\n"].concat(),
    ];
    for config in configs {
        target.write("samuel.toml", config);
        tried(&target, lines("run status, doctor"));
    }
    configure(&target, "");
    for lock in [format!("{key} = 1\n"), format!("# {ORDERS}\n[[")] {
        target.write("samuel.lock", lock);
        tried(&target, lines("ls"));
    }
    fs::remove_file(target.path("samuel.lock")).unwrap();
    change_plan(&target, |plan| plan.replace("LAST,", &format!("LAST{ORDERS},,,")));
    tried(&target, lines("run status, doctor --fix, run tasks"));
    target.write(".samuel/run/prd.toon", ORDERS);
    tried(&target, lines("run status, run prompt"));
}

#[test]
fn what_is_drawn_of_a_run_is_samuels_own() {
    let target = hostile();
    let mut command = target.samuel(&["run", "start", "--yes", "--agent-command", "./agent.sh"]);
    command.env("TERM", "xterm").env("COLUMNS", "80");
    let shown = String::from_utf8(at_terminal(command).bytes).unwrap();
    assert!(shown.contains("iteration 1: ") && shown.contains("check failed"), "{shown:?}");
    // The moving line goes back, erases and moves up, and says nothing else.
    let mut rest = shown.as_str();
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        text.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap();
        assert!(after[end..].starts_with(['K', 'A', 'm']), "{:?}", &after[..after.len().min(20)]);
        rest = &after[end + 1..];
    }
    text.push_str(rest);
    assert_eq!(order_in(text.replace('\r', "").as_bytes()), None);
}

#[test]
fn what_another_program_reads_is_exact_and_json_says_the_same() {
    let target = hostile();
    let prompt = ran(target.samuel(&["run", "prompt", "--yes"]), LIMIT);
    let prompt = String::from_utf8(prompt.stdout).unwrap();
    assert!(prompt.contains("\u{1b}]52;c;YQ==\u{7}") && prompt.contains("\u{202e}"), "{prompt:?}");
    let answer = ran(target.samuel(&["run", "tasks", "--json"]), LIMIT);
    assert_eq!(order_in(&answer.stdout), None);
    let answer = answer.json();
    let titles =
        answer["data"]["tasks"].as_array().unwrap().iter().map(|task| task["title"].as_str().unwrap());
    assert!(
        titles.clone().all(|title| title.starts_with(&format!("TITLE: {}", one_line(ORDERS)))),
        "{:?}",
        titles.collect::<Vec<_>>()
    );
    let toon = ran(target.samuel(&["toon", "decode", "data.toon"]), LIMIT);
    assert_eq!(order_in(&toon.stdout), None);
    assert_eq!(toon.json()[ORDERS], ORDERS);
    let events =
        ran(target.samuel(&["run", "start", "--yes", "--json", "--agent-command", "./agent.sh"]), LIMIT);
    assert_eq!(order_in(&events.stdout), None);
    let lines = String::from_utf8(events.stdout).unwrap();
    assert!(lines.lines().count() > 5, "{lines}");
    assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}
