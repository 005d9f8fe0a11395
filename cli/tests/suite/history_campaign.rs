//! Random runs with one to four workers, faults and kills: `report`, `runs`, `status`, `log` and `show` say what a
//! count of the raw lines in run.jsonl says. The count groups lines by the number of their iteration, and does not know
//! which worker does what when. By default 12 small runs are played; `SAMUEL_LONG=1` plays 200, `SAMUEL_SEED` one.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a campaign prints its figures")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::{BufRead as _, BufReader},
    iter,
    process::Stdio,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use serde_json::{Value, json};

use crate::{bench::Bench, lane_campaign::plans::Numbers, lane_ground::Ground};

/// An agent that speaks as Claude Code does. Each call has another number of tokens, and reports most of them first.
const AGENT: &str = r#"
cat > /dev/null
id=$SAMUEL_TASK_ID n=1
until mkdir "$notes/call-$id-$n" 2> /dev/null; do test -d "$notes" || exit 1; n=$((n + 1)); done
usage() { printf '"usage":{"input_tokens":%d,"output_tokens":0}' $((id * 100 + n - $1)); }
echo '{"type":"assistant","message":{"id":"m1","content":[],'"$(usage 1)"'}}'
rm -f "broken-$id"
case " $faults " in
*" fail-$id-$n "*) exit 7;;
*" check-$id-$n "*) : > "broken-$id";;
*" conflict-$id-1 "*) echo "$id" >> conflict.txt;;
esac
echo "$id" > "made-$id.txt"
"$SAMUEL_BINARY" run done "$id" > /dev/null
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":1,'"$(usage 0)"'}'
"#;

/// The lines of each run.
type Lines = BTreeMap<String, Vec<Value>>;
/// The iterations of tasks, failed ones, completions that were taken back, tokens.
type OfTasks = BTreeMap<String, [u64; 4]>;
/// The calls of agents, tokens.
type OfAgents = BTreeMap<String, [u64; 2]>;

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn all(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().unwrap().iter()
}

fn tokens(of: &Value) -> u64 {
    number(&of["usage"]["input_tokens"])
}

fn has_failed(of: &Value) -> bool {
    !of["failure"].is_null() && of["excused"] == false
}

fn add<const N: usize>(sums: &mut BTreeMap<String, [u64; N]>, key: &str, more: [u64; N]) {
    let sum = sums.entry(key.to_owned()).or_insert([0; N]);
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// An iteration, as the lines of all runs tell it.
#[derive(Default)]
struct Iteration {
    task: Option<String>,
    began_in: Option<String>,
    /// How it ended, by run: a run that is killed right then may tell it, and the next one, too.
    ends: BTreeMap<String, Value>,
    /// The tokens of its calls that ended.
    calls: u64,
    /// Whether a worker made it, whose work completes its task once it is merged.
    is_of_worker: bool,
    /// Whether a merge of its task came next.
    is_merged: bool,
}

impl Iteration {
    /// Returns whether it failed and its tokens, as one run tells; `None` if that run tells nothing of it.
    fn of_run(&self, run: &str) -> Option<(bool, u64)> {
        let began = self.began_in.as_deref() == Some(run);
        let end = self.ends.get(run).map(|end| (has_failed(end), tokens(end)));
        end.or_else(|| began.then_some((false, self.calls)))
    }
}

/// What is counted in the lines of all runs.
#[derive(Default)]
struct Count {
    /// By the first run of those that continue each other, and the number.
    iterations: BTreeMap<(String, u64), Iteration>,
    /// By run, the completions taken back among the figures of tasks.
    runs: BTreeMap<String, (OfAgents, OfTasks)>,
    /// The tasks that landed, with their commits.
    landed: Vec<(String, String)>,
}

fn counted(lines: &Lines) -> Count {
    let from = |run: &String| {
        let started = lines.get(run)?.iter().find(|line| line["event"] == "run_started")?;
        started["goes_on_from"].as_str().map(str::to_owned)
    };
    let (mut count, mut last) = (Count::default(), BTreeMap::new());
    for (run, lines) in lines {
        let first = iter::successors(Some(run.clone()), from).last().unwrap();
        let (agents, tasks) = count.runs.entry(run.clone()).or_default();
        let mut called = BTreeMap::new();
        for line in lines {
            let call = || (number(&line["iteration"]), text(&line["turn"]));
            let key = (first.clone(), line["iteration"].as_u64().unwrap_or_default());
            let iteration = count.iterations.entry(key.clone()).or_default();
            match line["event"].as_str().unwrap() {
                "iteration_started" => {
                    iteration.task = line["task"]["id"].as_str().map(str::to_owned);
                    iteration.began_in = Some(run.clone());
                    iteration.is_of_worker = line["lane"].is_u64();
                    last.insert(iteration.task.clone(), key);
                }
                "iteration_finished" => _ = iteration.ends.insert(run.clone(), line.clone()),
                "agent_started" => _ = called.insert(call(), text(&line["agent"])),
                "agent_finished" => {
                    iteration.calls += tokens(line);
                    add(agents, &called[&call()], [1, tokens(line)]);
                }
                "tasks_taken_back" => all(&line["tasks"]).for_each(|of| add(tasks, &text(of), [0, 0, 1, 0])),
                "task_landed" => {
                    count.landed.push((text(&line["task"]), text(&line["commit"])));
                    let of = last.get(&line["task"].as_str().map(str::to_owned));
                    count.iterations.get_mut(of.unwrap()).unwrap().is_merged = true;
                }
                _ => {}
            }
        }
    }
    count
}

fn told_of_tasks(tasks: &Value) -> Value {
    let figures = |of: &Value| json!([of["iterations"], of["failed"], of["taken_back"], tokens(of)]);
    let told = all(tasks).map(|of| (text(&of["task"]), figures(of)));
    told.filter(|(_, figures)| *figures != json!([0, 0, 0, 0])).collect()
}

fn told_of_agents(agents: &Value) -> Value {
    all(agents).map(|of| (text(&of["agent"]), json!([of["calls"], tokens(of)]))).collect()
}

/// Returns where the commands differ from a count of lines.
fn differences(bench: &Bench, lines: &Lines) -> Vec<String> {
    let run = |args: &[&str]| bench.ok(&[&["run"][..], args, &["--json"][..]].concat());
    let data = |args: &[&str]| run(args).json()["data"].clone();
    let (count, listed, mut found) = (counted(lines), data(&["runs"])["runs"].clone(), Vec::new());
    let mut hold = |what: &str, told: Value, counted: Value| {
        if told != counted {
            found.push(format!("{what}: {told} is told, and {counted} is counted"));
        }
    };
    let (mut tasks, mut agents) = (OfTasks::new(), OfAgents::new());
    for (id, raw) in lines {
        let rows = count.iterations.iter().filter_map(|(key, of)| Some((key.1, (of, of.of_run(id)?))));
        let rows: BTreeMap<u64, (&Iteration, (bool, u64))> = rows.collect();
        let (shares, mut of_tasks) = count.runs[id].clone();
        of_tasks.iter().for_each(|(task, figures)| add(&mut tasks, task, *figures));
        shares.iter().for_each(|(agent, share)| add(&mut agents, agent, *share));
        for (of, (failed, tokens)) in rows.values() {
            of.task.iter().for_each(|task| add(&mut of_tasks, task, [1, u64::from(*failed), 0, *tokens]));
        }
        let page = data(&["report", id]);
        let told = all(&page["run"]["iterations"])
            .map(|row| (number(&row["iteration"]), (row["task"].as_str(), (has_failed(row), tokens(row)))));
        let expected: BTreeMap<_, _> = rows.iter().map(|(key, (of, told))| (key, (&of.task, told))).collect();
        hold("rows", json!(told.collect::<BTreeMap<_, _>>()), json!(expected));
        hold("tasks", told_of_tasks(&page["tasks"]), json!(of_tasks));
        hold("agents", told_of_agents(&page["run"]["agents"]), json!(shares));
        let usage: u64 = shares.values().map(|share| share[1]).sum();
        let begun = || rows.values().filter(|(of, _)| of.began_in.as_ref() == Some(id));
        let failed = begun().filter(|(_, (failed, _))| *failed).count();
        let row = all(&listed).find(|row| row["run"] == id.as_str()).unwrap();
        let told = json!([row["iterations"], row["failed_iterations"], tokens(row), tokens(&page["run"])]);
        hold("sums", told, json!([begun().count(), failed, usage, usage]));
        let (log, _) = run(&["log", id]).events();
        let [told, expected] = [&log, raw].map(|lines| lines.iter().map(|line| &line["seq"]));
        hold("log", told.cloned().collect(), expected.cloned().collect());
        let Some((last, _)) = rows.last_key_value() else { continue };
        let (log, _) = run(&["log", id, "--iteration", &last.to_string()]).events();
        let of_others = log.iter().filter(|line| line["iteration"].as_u64().is_some_and(|of| of != *last));
        hold("lines of other iterations", json!(of_others.count()), json!(0));
        let is_its = |line: &&Value| line["iteration"] == *last && line["usage"].is_object();
        let [told, expected] = [&log, raw].map(|lines| lines.iter().filter(is_its).count());
        hold("lines of one iteration", json!(told), json!(expected));
    }
    let mut attempts: BTreeMap<&str, BTreeSet<(&str, u64, bool, u64)>> = BTreeMap::new();
    for ((_, number), of) in &count.iterations {
        let (Some(task), Some(began_in)) = (&of.task, &of.began_in) else { continue };
        let ended_in = of.ends.keys().next().unwrap_or(began_in);
        let (failed, tokens) = of.of_run(ended_in).unwrap();
        add(&mut tasks, task, [1, u64::from(failed), 0, tokens]);
        let completed = of.ends.values().flat_map(|end| all(&end["completed"]));
        let is_completed = if of.is_of_worker {
            of.is_merged
        } else {
            completed.map(text).any(|completed| completed == *task)
        };
        attempts.entry(task).or_default().insert((began_in, *number, is_completed, tokens));
    }
    let activity = data(&["status"])["activity"].clone();
    hold("tasks of status", told_of_tasks(&activity["tasks"]), json!(tasks));
    hold("agents of status", told_of_agents(&activity["agents"]), json!(agents));
    for (task, attempts) in attempts {
        let shown = data(&["show", task]);
        let told = all(&shown["attempts"]).map(|of| {
            let tokens = if of["usage"].is_null() { 0 } else { tokens(of) };
            (text(&of["run"]), number(&of["iteration"]), of["end"] == "completed", tokens)
        });
        hold("attempts", json!(told.collect::<BTreeSet<_>>()), json!(attempts));
        let commits: BTreeSet<String> = all(&shown["commits"]).map(text).collect();
        // The journal may have a merge that a kill kept out of the record.
        let mut landed = count.landed.iter().filter(|(of, _)| of == task);
        hold("commits", json!(landed.all(|(_, commit)| commits.contains(commit))), json!(true));
    }
    found
}

/// Reads the lines of all runs, without one that a kill cut short.
fn lines(bench: &Bench) -> Lines {
    let mut lines = Lines::new();
    for entry in fs::read_dir(bench.path(".samuel/run/logs")).unwrap().map(Result::unwrap) {
        let text = fs::read_to_string(entry.path().join("run.jsonl")).unwrap_or_default();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let of_run = lines.entry(entry.file_name().into_string().unwrap()).or_default();
            of_run.push(serde_json::from_str(line).unwrap());
        }
    }
    lines
}

/// Plays a project with so many tasks to its end, with faults and fewer kills. Returns how often it was killed, too.
fn played(seed: u64, size: u64) -> (Bench, u64) {
    let (mut numbers, ids) = (Numbers::of(seed), ["1", "2", "3"]);
    let bench = Ground::with(&ids[..usize::try_from(size).unwrap()]).bench;
    let below = |numbers: &mut Numbers, limit| usize::try_from(numbers.below(limit)).unwrap();
    let faults =
        ids.map(|id| format!("{}-{id}-1", ["fail", "check", "conflict", "no"][below(&mut numbers, 4)]));
    let [notes, agent] = ["notes", "agent"].map(|name| bench.root().with_file_name(name));
    fs::write(&agent, format!("notes='{}' faults='{}'\n{AGENT}", notes.display(), faults.join(" "))).unwrap();
    bench.configure(&format!(
        "quality_checks = [\"! ls broken-* 2> /dev/null\"]\nagent = \"claude\"\nagent_command = [\"sh\", {agent:?}]\n\
         pause = \"0s\"\nmax_consecutive_failures = 1000\ntask_budget = {{ max_attempts = 9 }}"
    ));
    bench.git(&["commit", "--quiet", "--all", "--message", "Configure"]);
    let jobs = ["4", "1", "2", "1", "1", "3", "1", "2"][usize::try_from(seed % 8).unwrap()];
    let mut start = vec!["run", "start", "--yes", "--json", "--jobs", jobs];
    start.extend(["--into", "main"].iter().filter(|_| jobs != "1"));
    let (wanted, mut kills) = (numbers.below(size), 0);
    loop {
        let moment = if kills < wanted { 5 + below(&mut numbers, 60) } else { usize::MAX };
        let mut command = bench.command(&start);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let told: Vec<String> = lines.take(moment).collect();
        if told.len() == moment {
            child.kill().unwrap();
        }
        if let Some(code) = child.wait().unwrap().code() {
            assert_eq!(code, 0, "seed {seed}: {:?}", told.last());
            return (bench, kills);
        }
        kills += 1;
    }
}

// Takes about 8 s: 12 projects with up to four workers, half of them killed.
#[test]
fn commands_tell_what_raw_lines_say() {
    let seed = env::var("SAMUEL_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let is_long = seed.is_some() || env::var_os("SAMUEL_LONG").is_some();
    let (size, last) = if is_long { (3, 200) } else { (2, 12) };
    let seeds = seed.map_or(1..=last, |seed| seed..=seed);
    let (next, all_kills) = (AtomicU64::new(*seeds.start()), AtomicU64::new(0));
    let play = || {
        while let Some(seed) = Some(next.fetch_add(1, Ordering::SeqCst)).filter(|seed| seeds.contains(seed)) {
            let (bench, kills) = played(seed, size);
            all_kills.fetch_add(kills, Ordering::SeqCst);
            let lines = lines(&bench);
            println!("seed {seed}: {} runs, {kills} kills", lines.len());
            assert_eq!(differences(&bench, &lines), Vec::<String>::new(), "seed {seed}");
        }
    };
    thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(play)));
    assert!(seed.is_some() || all_kills.into_inner() > 0);
}

#[test]
fn count_notices_changed_lines() {
    let (bench, _) = played(1, 2);
    let used = "/usage/input_tokens";
    for (event, place) in
        [("iteration_started", "/task/id"), ("agent_finished", used), ("iteration_finished", used)]
    {
        let mut lines = lines(&bench);
        let line = lines.values_mut().flatten().find(|line| line["event"] == event);
        *line.and_then(|line| line.pointer_mut(place)).unwrap() = json!(7);
        assert_ne!(differences(&bench, &lines), Vec::<String>::new(), "{event}");
    }
}
