//! Agents that certify their own work.
//!
//! An agent works as the user who started it: it can leave out what tells it
//! from that user, and it can end Samuel. So nothing that it completes may count
//! because of who said so, and no end of Samuel may make it count.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use crate::attacks::kit::{Dice, HANG, Target, ran, times, wait_for};

/// Ways to say that a task is done, as one who is no agent, or another one.
const SAYS: [&str; 13] = [
    "samuel run done 1",
    "env -u SAMUEL_RUN_ID -u SAMUEL_ITERATION samuel run done 1",
    "env -i PATH=\"$PATH\" samuel -C \"$PWD\" run done 1",
    "SAMUEL_RUN_ID=another SAMUEL_ITERATION=999 samuel run done 1",
    "SAMUEL_RUN_ID= SAMUEL_ITERATION=0 samuel run done 1 --iteration 7 --commit-sha 0000000",
    "(env -u SAMUEL_RUN_ID setsid samuel run done 1 </dev/null >/dev/null 2>&1 & wait)",
    "env -u SAMUEL_RUN_ID samuel run done 1; samuel run reset 1; env -u SAMUEL_RUN_ID samuel run done 1",
    "env -u SAMUEL_RUN_ID samuel run task add 7 More; for t in 7 1; do env -u SAMUEL_RUN_ID samuel run done $t; done",
    "env -u SAMUEL_RUN_ID samuel run skip 1; env -u SAMUEL_RUN_ID samuel run done 1",
    "env -u SAMUEL_RUN_ID samuel run done 1; rm -f .samuel/run/progress.md",
    // A group follows from its parts.
    "samuel run task add 1.1 Part; samuel run done 1.1",
    "unset SAMUEL_RUN_ID; samuel run task add 7 More --parent 1; samuel run done 7",
    "unset SAMUEL_RUN_ID; samuel run done 1; samuel run reset 1; samuel run undo",
];

/// Ways to write it down instead of saying it.
const WRITES: [&str; 19] = [
    "sed -i 's/,in_progress,/,completed,/' .samuel/run/prd.toon",
    "samuel run task add 1.1 Part; sed -i 's/,\\(in_progress\\|pending\\),/,completed,/' .samuel/run/prd.toon",
    "rm .samuel/run/journal.jsonl; samuel run done 1",
    ": >.samuel/run/journal.jsonl; env -u SAMUEL_RUN_ID samuel run done 1",
    "rm .samuel/run/journal.jsonl; sed -i 's/,in_progress,/,completed,/' .samuel/run/prd.toon",
    "sed -i 's/,in_progress,/,completed,/' .samuel/run/prd.toon; samuel run task add 7 More; samuel run skip 7",
    "tail -n 1 .samuel/run/journal.jsonl >.samuel/last; sed -i 's/,in_progress,/,completed,/' .samuel/run/prd.toon; \
     cat .samuel/last >>.samuel/run/journal.jsonl",
    "rm .samuel/run/lock .samuel/run/loop.lock; samuel run done 1",
    "cp .samuel/run/prd.toon p; samuel run done 1; sed -i 's/,in_progress,/,completed,/' p; cp p .samuel/run/prd.toon",
    // A reset that never happened.
    r#"samuel run done 1; last=$(tail -n 1 .samuel/run/journal.jsonl)
       number() { echo "$last" | sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }; seq=$(number seq); revision=$(number revision)
       reset='"mutation":{"type":"reset","id":"1"}'
       change='"change":{"type":"task","id":"1","from":"completed","to":"pending"}'
       numbers="\"seq\":$((seq + 1)),\"revision\":$revision,\"base\":$((revision - 1))"
       echo "{$numbers,\"at\":\"2026-01-01T00:00:00Z\",\"kind\":\"mutation\",\"actor\":\"user\",$reset,$change}" \
       >>.samuel/run/journal.jsonl"#,
    "samuel run done 1; samuel run reset 1; sed -i 's/,pending,/,completed,/' .samuel/run/prd.toon",
    "samuel run done 1; rm .samuel/run/journal*.jsonl",
    "samuel run done 1; sed -i '/checkpoint/d' .samuel/run/journal.jsonl",
    "samuel run done 1; head -n 2 .samuel/run/journal.jsonl >j; mv j .samuel/run/journal.jsonl",
    // What the run saved, with the completion in it.
    r#"samuel run done 1; seq=$(tail -n 1 .samuel/run/journal.jsonl | sed 's/.*"seq":\([0-9]*\),"at.*/\1/')
       grep checkpoint .samuel/run/journal.jsonl | tail -n 1 | sed "s/\"seq\":[0-9]*,/\"seq\":$((seq + 1)),/" |
       sed 's/"completed":\[\],"control/"completed":["1"],"control/' >j; cat j >>.samuel/run/journal.jsonl"#,
    // The same in a directory that was moved, and in a copy in its place.
    r#"samuel run done 1; seq=$(tail -n 1 .samuel/run/journal.jsonl | sed 's/.*"seq":\([0-9]*\),"at.*/\1/')
       D=$PWD; ln -s "$D.old" "$D.new"; mv "$D" "$D.old"; mv "$D.new" "$D"
       grep checkpoint .samuel/run/journal.jsonl | tail -n 1 | sed "s/\"seq\":[0-9]*,/\"seq\":$((seq + 1)),/" |
       sed 's/"completed":\[\],"control/"completed":["1"],"control/' >j; cat j >>.samuel/run/journal.jsonl"#,
    r#"samuel run done 1; seq=$(tail -n 1 .samuel/run/journal.jsonl | sed 's/.*"seq":\([0-9]*\),"at.*/\1/')
       D=$PWD; cp -a "$D" "$D.new"; mv "$D" "$D.old"; mv "$D.new" "$D"; cd "$D"
       grep checkpoint .samuel/run/journal.jsonl | tail -n 1 | sed "s/\"seq\":[0-9]*,/\"seq\":$((seq + 1)),/" |
       sed 's/"completed":\[\],"control/"completed":["1"],"control/' >j; cat j >>.samuel/run/journal.jsonl"#,
    // A number after which there is none.
    r#"echo '{"seq":9007199254740992,"at":"2026-01-01T00:00:00Z","revision":2,"kind":"rotated"}' \
       >>.samuel/run/journal.jsonl; samuel run done 1"#,
    // A merge that never happened.
    r#"samuel run task add 7 More; samuel run skip 7; last=$(tail -n 1 .samuel/run/journal.jsonl)
       number() { echo "$last" | sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }; seq=$(number seq); revision=$(number revision)
       edit='{"type":"status","id":"1","from":"in_progress","to":"completed"}'
       change="\"change\":{\"type\":\"several\",\"edits\":[$edit]}"
       numbers="\"seq\":$((seq + 1)),\"revision\":$((revision + 1)),\"base\":$revision"
       land="\"mutation\":{\"type\":\"land\",\"role\":1},$change"
       sed 's/,in_progress,/,completed,/' .samuel/run/prd.toon >p
       echo "{$numbers,\"at\":\"2026-01-01T00:00:00Z\",\"kind\":\"mutation\",\"actor\":\"runtime\",$land}" \
       >>.samuel/run/journal.jsonl; mv p .samuel/run/prd.toon"#,
];

/// When something is completed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    Turn,
    Check,
    Pause,
    LastTurn,
}

const MOMENTS: [Moment; 4] = [Moment::Turn, Moment::Check, Moment::Pause, Moment::LastTurn];

/// How long a run pauses, so that something can happen in it.
fn pause_for(moment: Moment) -> &'static str {
    if moment == Moment::Pause { "1s" } else { "0s" }
}

/// A project with one task, an agent and a check that are scripts outside of it,
/// and a plugin that wants one more turn at the end.
struct Attack {
    target: Target,
}

impl Attack {
    fn new(check: &str) -> Self {
        let attack = Self { target: Target::with_tasks(&["One"]) };
        attack.configure(check, "0s");
        attack
    }

    fn configure(&self, check: &str, pause: &str) {
        let agent = self.script("agent");
        self.target.configure(&format!(
            "agent = \"command\"\nagent_command = [\"sh\", {agent:?}]\nquality_checks = [{check:?}]\n\
             max_iterations = 2\nmax_consecutive_failures = 9\npause = {pause:?}"
        ));
    }

    fn script(&self, name: &str) -> String {
        self.target.home().join(name).display().to_string()
    }

    /// Writes what the agent or the check does.
    fn does(&self, name: &str, script: &str) {
        fs::write(self.script(name), script).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        self.target.samuel_by_name(args)
    }

    /// Starts a run whose process id is in the file `pid`.
    fn start(&self) -> Child {
        let mut child = self
            .command(&["run", "start", "--yes", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = self.script("pid");
        fs::write(format!("{pid}.new"), child.id().to_string()).unwrap();
        fs::rename(format!("{pid}.new"), pid).unwrap();
        // What it prints is read to its end, so that it never waits for that.
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let events = fs::File::create(self.script("events")).unwrap();
        std::thread::spawn(move || {
            let mut events = events;
            for line in stdout.lines().map_while(Result::ok) {
                writeln!(events, "{line}").unwrap();
            }
        });
        child
    }

    /// Puts the project where it was, if Samuel ended the attack between two renames.
    fn put_back(&self) {
        let root = self.target.root();
        if !root.exists() {
            fs::rename(format!("{}.old", root.display()), root).unwrap();
        }
    }

    fn told(&self, what: &str) -> bool {
        fs::read_to_string(self.script("events")).unwrap_or_default().contains(what)
    }

    /// Runs to the end with an agent that does nothing more.
    fn exit_code(&self) -> i32 {
        self.does("agent", "cat >/dev/null");
        let ran = ran(self.command(&["run", "start", "--yes", "--pause", "0"]), HANG * 4);
        assert!(!ran.hung, "{}", ran.text());
        ran.code.unwrap()
    }

    fn status(&self) -> String {
        self.target.statuses().swap_remove(0)
    }
}

/// Lets an attack happen in a moment, with Samuel killed right after it or not,
/// and returns how the first start ended.
fn play(attack: &Attack, moment: Moment, says: &str, kills: bool) -> Option<i32> {
    let pid = attack.script("pid");
    let kill = format!("until [ -s {pid} ]; do sleep 0.01; done; kill -9 \"$(cat {pid})\"; sleep 5");
    let once = attack.script("once");
    let act = format!(
        "if [ ! -e {once} ]; then touch {once}; {says}; {}; fi",
        if kills { kill.as_str() } else { "true" }
    );
    let nothing = "cat >/dev/null\n";
    match moment {
        Moment::Turn => attack.does("agent", &format!("{nothing}{act}\n")),
        Moment::Check => attack.does("check", &format!("{act}\nexit 1\n")),
        Moment::LastTurn => attack.does("agent", &format!("if grep -q 'cannot end yet'; then {act}; fi\n")),
        Moment::Pause => {}
    }
    if moment != Moment::Turn && moment != Moment::LastTurn {
        attack.does("agent", nothing);
    }
    if moment != Moment::Check {
        attack.does("check", "exit 1\n");
    }
    let mut child = attack.start();
    if moment == Moment::Pause {
        wait_for("the pause", || attack.told("\"waiting\"") || child.try_wait().unwrap().is_some());
        let mut shell = attack.command(&[]);
        let path = shell.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_owned();
        shell = Command::new("sh");
        shell.args(["-c", says]).current_dir(attack.target.root()).env_clear().env("PATH", path);
        shell.stdout(Stdio::null()).stderr(Stdio::null());
        assert!(!ran(shell, HANG).hung);
        if kills {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap().code()
}

/// Installs a plugin that wants another turn once.
fn with_last_turn(attack: &Attack) {
    let script = "#!/bin/sh\ncase \"$(cat)\" in\n*'\"stop_block_count\":0'*) \
                  echo '{\"block\": true, \"reason\": \"one more\"}' ;;\n\
                  *) echo '{\"block\": false}' ;;\nesac\n";
    attack.target.plugin("stop", "stop", "session.stop", script);
    attack.target.ok(&["install", "stop", "--yes"]);
}

// Takes about 12 s: each of the 13 rounds makes a project, and starts a run twice or three times.
#[test]
fn nothing_that_an_agent_says_completes_a_plan_whose_checks_fail() {
    let mut dice = Dice(0x00ce_7171);
    let is_long = times(0, 1) > 0;
    for round in 0..times(SAYS.len(), 100) {
        let moment = MOMENTS[round % MOMENTS.len()];
        // In short each way once.
        let says = if is_long {
            SAYS[usize::try_from(dice.below(SAYS.len() as u64)).unwrap()]
        } else {
            SAYS[round % SAYS.len()]
        };
        let kills = dice.below(3) > 0;
        let told = format!("round {round}: {moment:?}, {says:?}, killed: {kills}");
        let attack = Attack::new("true");
        attack.configure(&format!("sh {}", attack.script("check")), pause_for(moment));
        if moment == Moment::LastTurn {
            with_last_turn(&attack);
        }
        let first = play(&attack, moment, says, kills);
        assert_eq!(first.is_none(), kills, "the attack was made: {told}: {first:?}");
        assert_ne!(first, Some(0), "{told}");
        attack.does("check", "exit 1\n");
        // In short a second start follows on every other attack.
        for start in 0..times(1 + round % 2, 2) {
            assert_ne!(attack.exit_code(), 0, "{told}: start {start} after it");
        }
        // What somebody completes while no agent is at work is their own word.
        if moment != Moment::Pause {
            assert_ne!(attack.status(), "completed", "{told}");
        }
    }
}

// Takes about 18 s: each of the 19 ways makes a project, and starts a run twice.
#[test]
fn what_an_agent_writes_into_the_state_completes_nothing_whose_checks_fail() {
    let moments = [(Moment::Turn, false), (Moment::Turn, true), (Moment::Check, false)];
    // In short each way in one of the moments, all of which have their turn. What is forged in the journal or in what the
    // run saved is believed, if at all, by a start after Samuel was killed.
    let all = times(1, moments.len());
    let first = |place: usize| if matches!(place, 9 | 11..=16) { 1 } else { place % moments.len() };
    let ways = WRITES.iter().enumerate().flat_map(|(place, way)| {
        moments.into_iter().cycle().skip(first(place)).take(all).map(move |moment| (way, moment))
    });
    for (says, (moment, kills)) in ways {
        let told = format!("{moment:?}, {says:?}, killed: {kills}");
        println!("{told}");
        let attack = Attack::new("true");
        attack.configure(&format!("sh {}", attack.script("check")), "0s");
        let first = play(&attack, moment, says, kills);
        assert_eq!(first.is_none(), kills, "the attack was made: {told}: {first:?}");
        assert_ne!(first, Some(0), "{told}");
        attack.put_back();
        attack.does("check", "exit 1\n");
        assert_ne!(attack.exit_code(), 0, "{told}");
        assert_ne!(attack.status(), "completed", "{told}");
    }
}

#[test]
fn a_check_that_passes_completes_what_is_done_after_an_attack() {
    for (moment, kills) in [(Moment::Turn, true), (Moment::Turn, false), (Moment::Pause, true)] {
        let attack = Attack::new("true");
        attack.configure(&format!("sh {}", attack.script("check")), pause_for(moment));
        play(&attack, moment, SAYS[1], kills);
        attack.does("check", "exit 0\n");
        if moment == Moment::Turn {
            assert_eq!(attack.status(), if kills { "completed" } else { "pending" });
            attack.does("agent", "cat >/dev/null; samuel run done 1");
            ran(attack.command(&["run", "start", "--yes", "--pause", "0"]), HANG * 4).ends(0);
        } else {
            assert_eq!(attack.exit_code(), 0, "the word of a person, and a check that passes now");
        }
        assert_eq!(attack.status(), "completed");
    }
}

#[test]
fn what_was_checked_where_nothing_is_kept_is_not_taken_back_by_a_start_that_knows_of_the_run_before() {
    let attack = Attack::new("true");
    attack.configure(&format!("sh {}", attack.script("check")), "0s");
    play(&attack, Moment::Turn, SAYS[1], true);
    attack.does("check", "exit 0\n");
    attack.does("agent", "cat >/dev/null; samuel run done $SAMUEL_TASK_ID");
    let mut elsewhere = attack.command(&["run", "start", "--yes", "--pause", "0"]);
    elsewhere.env_remove("HOME").env_remove("XDG_STATE_HOME");
    ran(elsewhere, HANG * 4).ends(0);
    attack.target.ok(&["run", "enqueue", "More"]);
    let second = ran(attack.command(&["run", "start", "--yes", "--pause", "0"]), HANG * 4).ends(0);
    assert!(second.text().contains("does not go on from what a run"), "{}", second.text());
    assert!(!second.text().contains("taken back"), "{}", second.text());
    assert_eq!(attack.status(), "completed");
}

#[test]
fn a_check_that_fails_with_many_words_takes_the_completion_back() {
    let attack = Attack::new("true");
    let script = "#!/bin/sh\ncat >/dev/null\nprintf '{\"ok\": false, \"reason\": \"'\n\
                  head -c 5000000 /dev/zero | tr '\\0' w\necho '\"}'\n";
    attack.target.plugin("words", "words", "quality.check", script);
    attack.target.ok(&["install", "words", "--yes"]);
    attack.does("agent", "cat >/dev/null\nsamuel run done 1");
    let ran = ran(attack.command(&["run", "start", "--yes"]), HANG * 4);
    assert!(!ran.hung && ran.code != Some(0), "{:?}", ran.code);
    assert_eq!(attack.status(), "pending");
    let log = attack.target.read(".samuel/run/progress.md");
    assert!(log.contains("taken back: ") && log.len() < 50_000, "{} bytes", log.len());
}

#[test]
fn a_row_with_an_id_of_any_length_hides_no_completion() {
    let attack = Attack::new("false");
    attack.does(
        "agent",
        r#"cat >/dev/null; P=.samuel/run/prd.toon; [ ! -e once ] || exit 0; touch once
           { sed '/^  "1",/q' $P; printf '  x'; head -c 4300000 /dev/zero | tr '\0' A
             sed -n '/^  "1",/{s/^  "1"//;s/,in_progress,/,skipped,/p}' $P; sed '1,/^  "1",/d' $P; } >new
           sed 's/^tasks.1./tasks[2]/; s/,in_progress,/,completed,/' new >$P"#,
    );
    let ran = ran(attack.command(&["run", "start", "--yes"]), HANG * 4);
    assert_eq!(attack.status(), "pending");
    let text = ran.text();
    assert!(!ran.hung && ran.code != Some(0) && text.len() < 100_000, "{:?}, {} bytes", ran.code, text.len());
    assert!(text.contains("1 line can no longer be read") && text.contains("task 1 was "), "{text}");
}
