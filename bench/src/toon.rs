//! `cargo xtask bench toon`: the codec beside `serde_json` and `serde_toon`.
//!
//! All three encode and decode the same typed data in one process, in turns,
//! and both TOON codecs in strict mode, which checks lengths, widths and keys;
//! the mode in which `serde_toon` decodes by default does not, and is shown in
//! brackets.
//! Each round gives a ratio of times that were taken one right after the
//! other, and the medians of those ratios are compared. The times are those of
//! the processor, not of the clock, so that a busy machine does not matter much.
//! The run fails when a gate is missed.
//!
//! `--scale` also measures growth in steps of ten up to 100 MB, and `done` in a
//! plan of 10,000 tasks; `--tokens` prints what `stats` says of the data;
//! `--borrowed` decodes into borrowed strings; and `--repeat table decode toon
//! 100` does one thing often, for a profiler.

use std::{hint::black_box, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use rustix::time::{ClockId, clock_gettime};
use samuel_core::toon;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{done, gate};

/// What is measured, and how much slower than `serde_json` it may be.
struct Gate {
    name: &'static str,
    encode: f64,
    decode: f64,
}

const GATES: [Gate; 3] = [
    Gate { name: "prd", encode: 1.5, decode: 1.15 },
    Gate { name: "table", encode: 1.5, decode: 1.15 },
    Gate { name: "nested", encode: 2.0, decode: 1.5 },
];

/// How much faster than `serde_toon` both directions must be.
const FASTER_THAN_PEER: f64 = 1.7;

/// Runs the benchmark.
///
/// # Errors
/// Fails when a gate is missed or a round trip does not return its input.
pub(crate) fn run(args: &[String]) -> Result<()> {
    if let Some(at) = args.iter().position(|arg| arg == "--repeat") {
        return repeat(args.get(at + 1..).unwrap_or_default());
    }
    let mut missed = Vec::new();
    println!(
        "{:8}{:>10}{:>12}{:>10}{:>10}{:>10}{:>10}",
        "data", "direction", "bytes", "json", "toon", "ratio", "peer"
    );
    let [prd, table, nested] = &GATES;
    measure(prd, &data::plan(60), &mut missed)?;
    measure(table, &data::table(10_000), &mut missed)?;
    measure(nested, &data::catalogue(1_000_000), &mut missed)?;
    let asked = |option: &str| args.iter().any(|arg| arg == option);
    if asked("--tokens") {
        tokens()?;
    }
    if asked("--borrowed") {
        borrowed()?;
    }
    if asked("--scale") {
        scale(&mut missed)?;
        if let Err(error) = gate::report(&[done::measure_store()?]) {
            missed.push(error.to_string());
        }
    }
    ensure!(missed.is_empty(), "missed: {}", missed.join("; "));
    Ok(())
}

fn measure<T>(gate: &Gate, value: &T, missed: &mut Vec<String>) -> Result<()>
where
    T: Serialize + DeserializeOwned + PartialEq,
{
    let json = serde_json::to_string(value)?;
    let text = toon::to_string(value)?;
    let peer = serde_toon::to_string(value).map_err(|error| anyhow::anyhow!("serde_toon: {error}"))?;
    ensure!(toon::from_str::<T>(&text)? == *value, "{}: the round trip lost something", gate.name);
    let encode = in_turns([
        &mut || drop(black_box(serde_json::to_string(black_box(value)))),
        &mut || drop(black_box(toon::to_string(black_box(value)))),
        &mut || drop(black_box(serde_toon::to_string(black_box(value)))),
    ]);
    let decode = in_turns([
        &mut || drop(black_box(serde_json::from_str::<T>(black_box(&json)))),
        &mut || drop(black_box(toon::from_str::<T>(black_box(&text)))),
        &mut || {
            let strict = serde_toon::DecodeOptions::strict();
            drop(black_box(serde_toon::from_str_with_options::<T>(black_box(&peer), strict)));
        },
        &mut || drop(black_box(serde_toon::from_str::<T>(black_box(&peer)))),
    ]);
    judge(gate.name, "encode", text.len(), &encode, gate.encode, missed);
    judge(gate.name, "decode", text.len(), &decode, gate.decode, missed);
    Ok(())
}

fn repeat(args: &[String]) -> Result<()> {
    let [data, direction, codec, count] = args else {
        bail!("--repeat takes data, direction, codec and a number");
    };
    let count = count.parse()?;
    match data.as_str() {
        "prd" => repeat_on(&data::plan(60), direction, codec, count),
        "table" => repeat_on(&data::table(10_000), direction, codec, count),
        "nested" => repeat_on(&data::catalogue(1_000_000), direction, codec, count),
        _ => bail!("there is no data called {data}"),
    }
}

fn repeat_on<T: Serialize + DeserializeOwned>(
    value: &T,
    direction: &str,
    codec: &str,
    count: usize,
) -> Result<()> {
    let text = encoded(codec, value)?;
    for _ in 0..count {
        match direction {
            "encode" => drop(black_box(encoded(codec, black_box(value))?)),
            _ => drop(black_box(decoded::<T>(codec, black_box(&text))?)),
        }
    }
    Ok(())
}

fn encoded<T: Serialize>(codec: &str, value: &T) -> Result<String> {
    Ok(match codec {
        "json" => serde_json::to_string(value)?,
        "toon" => toon::to_string(value)?,
        _ => serde_toon::to_string(value)?,
    })
}

fn decoded<T: DeserializeOwned>(codec: &str, text: &str) -> Result<T> {
    Ok(match codec {
        "json" => serde_json::from_str(text)?,
        "toon" => toon::from_str(text)?,
        _ => serde_toon::from_str(text)?,
    })
}

fn judge<const N: usize>(
    name: &str,
    direction: &str,
    bytes: usize,
    turns: &Turns<N>,
    limit: f64,
    missed: &mut Vec<String>,
) {
    let medians = turns.medians();
    let [json, toon] = [0, 1].map(|action| medians.get(action).copied().unwrap_or_default());
    let (ratio, gain) = (turns.ratio(1, 0), turns.ratio(2, 1));
    let default = if N > 3 { format!(" ({:.2}x)", turns.ratio(3, 1)) } else { String::new() };
    println!(
        "{name:8}{direction:>10}{bytes:>12}{json:>10.1?}{toon:>10.1?}{ratio:>9.2}x{gain:>9.2}x{default}"
    );
    if ratio > limit {
        missed.push(format!("{name} {direction} takes {ratio:.2} times serde_json instead of {limit}"));
    }
    if gain < FASTER_THAN_PEER {
        missed.push(format!("{name} {direction} is {gain:.2} times as fast as serde_toon"));
    }
}

/// The times of several actions, round by round.
struct Turns<const N: usize>(Vec<[Duration; N]>);

impl<const N: usize> Turns<N> {
    /// Returns the median time of each action.
    fn medians(&self) -> [Duration; N] {
        std::array::from_fn(|action| {
            median(self.0.iter().filter_map(|round| round.get(action)).map(Duration::as_secs_f64))
        })
        .map(Duration::from_secs_f64)
    }

    /// Returns the median of how many times longer one action took than another.
    fn ratio(&self, action: usize, than: usize) -> f64 {
        median(
            self.0
                .iter()
                .filter_map(|round| Some(round.get(action)?.as_secs_f64() / round.get(than)?.as_secs_f64())),
        )
    }
}

/// Returns the value in the middle; zero of nothing.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Times actions in turns; every round runs all of them.
fn in_turns<const N: usize>(mut actions: [&mut dyn FnMut(); N]) -> Turns<N> {
    const ROUNDS: usize = 101;
    const ROUND: Duration = Duration::from_millis(3);
    let repeats = actions.each_mut().map(|action| {
        action();
        (ROUND.as_nanos() / timed(&mut *action).as_nanos().max(1)).clamp(1, 10_000) as u32
    });
    let round = |_| {
        let mut times = [Duration::ZERO; N];
        for ((action, repeats), time) in actions.iter_mut().zip(repeats).zip(&mut times) {
            *time = timed(|| (0..repeats).for_each(|_| action())) / repeats;
        }
        times
    };
    Turns((0..ROUNDS).map(round).collect())
}

/// Returns the time that this thread had a processor for while it did something.
fn timed(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
    };
    let start = now();
    work();
    now().saturating_sub(start)
}

/// Prints the bytes and estimated tokens of the data in all forms.
fn tokens() -> Result<()> {
    println!("{:8}{:>14}{:>22}{:>22}", "data", "TOON", "compact JSON", "indented JSON");
    let sizes = [
        ("prd", toon::stats(&data::plan(60), Default::default())?),
        ("table", toon::stats(&data::table(10_000), Default::default())?),
        ("nested", toon::stats(&data::catalogue(1_000_000), Default::default())?),
    ];
    for (name, stats) in sizes {
        let beside = |other: toon::Size| {
            let share = 100.0 * (stats.toon.tokens as f64 / other.tokens as f64 - 1.0);
            format!("{} ({share:+.0} %)", other.tokens)
        };
        println!(
            "{name:8}{:>14}{:>22}{:>22}",
            stats.toon.tokens,
            beside(stats.json),
            beside(stats.json_pretty)
        );
    }
    Ok(())
}

fn borrowed() -> Result<()> {
    let value = data::table(10_000);
    let json = serde_json::to_string(&value)?;
    let text = toon::to_string(&value)?;
    let turns = in_turns([
        &mut || drop(black_box(serde_json::from_str::<data::Table<&str>>(black_box(&json)))),
        &mut || drop(black_box(toon::from_str::<data::Table<&str>>(black_box(&text)))),
    ]);
    let ([json, toon], ratio) = (turns.medians(), turns.ratio(1, 0));
    println!("table, borrowed fields: json {json:.1?}, toon {toon:.1?}, {ratio:.2}x");
    Ok(())
}

/// Growth by ten may cost ten times as much, and a margin for caches.
fn scale(missed: &mut Vec<String>) -> Result<()> {
    const MARGIN: f64 = 2.0;
    const ROUNDS: usize = 5;
    let mut last: Option<[f64; 2]> = None;
    for rows in [1_500, 15_000, 150_000, 1_500_000] {
        let value = data::table(rows);
        let text = toon::to_string(&value)?;
        ensure!(toon::from_str::<data::Table>(&text)? == value, "the round trip lost something");
        let round = |_| {
            let encode = timed(|| drop(black_box(toon::to_string(black_box(&value)))));
            let decode = timed(|| drop(black_box(toon::from_str::<data::Table>(black_box(&text)))));
            [encode, decode]
        };
        let times = Turns((0..ROUNDS).map(round).collect());
        let [encode, decode] = times.medians().map(|time| time.as_secs_f64() * 1e9 / text.len() as f64);
        println!("{:>10.1} MB: encode {encode:.2} ns/B, decode {decode:.2} ns/B", text.len() as f64 / 1e6);
        if let Some([encode_before, decode_before]) = last.replace([encode, decode]) {
            let grew = (encode / encode_before).max(decode / decode_before);
            if grew > MARGIN {
                missed.push(format!("{rows} rows cost {grew:.1} times as much per byte"));
            }
        }
    }
    last.context("nothing was measured").map(drop)
}

/// The three kinds of data, made without chance.
mod data {
    use super::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Plan {
        version: String,
        project: Project,
        tasks: Vec<Task>,
        progress: Progress,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Project {
        name: String,
        description: String,
        source_prd: String,
        created_at: String,
        updated_at: String,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Task {
        id: String,
        title: String,
        description: String,
        status: Status,
        priority: Priority,
        complexity: String,
        parent_id: Option<String>,
        depends_on: String,
        files_to_modify: String,
        acceptance: String,
        created_at: String,
        completed_at: Option<String>,
        commit_sha: Option<String>,
        iteration: Option<u64>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Status {
        Pending,
        InProgress,
        Completed,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Priority {
        High,
        Medium,
        Low,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Progress {
        status: String,
        total_tasks: u64,
        completed_tasks: u64,
        current_iteration: u64,
        cost_usd: f64,
    }

    pub(super) fn plan(tasks: usize) -> Plan {
        let task = |number: usize| Task {
            id: number.to_string(),
            title: format!("Parse the configuration of module {number}"),
            description: format!("Read the file, check every key and report line and column, part {number}"),
            status: match number % 3 {
                0 => Status::Completed,
                1 => Status::InProgress,
                _ => Status::Pending,
            },
            priority: match number % 3 {
                0 => Priority::High,
                1 => Priority::Medium,
                _ => Priority::Low,
            },
            complexity: "medium".into(),
            parent_id: number.is_multiple_of(4).then(|| (number / 4).to_string()),
            depends_on: if number > 1 { format!("[\"{}\"]", number - 1) } else { "[]".into() },
            files_to_modify: format!("[\"src/module_{number}.rs\",\"src/lib.rs\"]"),
            acceptance: format!("[\"cargo test module_{number}\"]"),
            created_at: "2026-01-05T10:00:00Z".into(),
            completed_at: number.is_multiple_of(3).then(|| "2026-01-06T11:30:00Z".into()),
            commit_sha: number.is_multiple_of(3).then(|| format!("{:07x}", number * 7_919)),
            iteration: number.is_multiple_of(3).then_some(number as u64),
        };
        Plan {
            version: "1".into(),
            project: Project {
                name: "samuel".into(),
                description: "An embeddable loop for coding agents".into(),
                source_prd: "docs/prd.md".into(),
                created_at: "2026-01-05T10:00:00Z".into(),
                updated_at: "2026-01-06T11:30:00Z".into(),
            },
            tasks: (1..=tasks).map(task).collect(),
            progress: Progress {
                status: "running".into(),
                total_tasks: tasks as u64,
                completed_tasks: tasks as u64 / 3,
                current_iteration: 17,
                cost_usd: 4.25,
            },
        }
    }

    /// Its text is owned, or borrowed from what it is decoded from.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Table<S = String> {
        rows: Vec<Row<S>>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row<S> {
        id: u64,
        name: S,
        email: S,
        city: S,
        age: u32,
        score: f64,
        active: bool,
        balance: i64,
    }

    pub(super) fn table(rows: usize) -> Table {
        let row = |number: usize| Row {
            id: number as u64,
            name: format!("Name {number}"),
            email: format!("user{number}@example.org"),
            city: ["Berlin", "Oslo", "Lisboa", "Kraków"].get(number % 4).copied().unwrap_or_default().into(),
            age: 18 + number as u32 % 60,
            score: (number % 1_000) as f64 / 8.0,
            active: number.is_multiple_of(3),
            balance: number as i64 * 37 - 100_000,
        };
        Table { rows: (0..rows).map(row).collect() }
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Catalogue {
        products: Vec<Product>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Product {
        id: u64,
        name: String,
        tags: Vec<String>,
        maker: Maker,
        variants: Vec<Variant>,
        reviews: Vec<Review>,
        note: Option<String>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Maker {
        name: String,
        country: String,
        contact: Contact,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Contact {
        email: String,
        phones: Vec<String>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Variant {
        sku: String,
        price: f64,
        stock: u32,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Review {
        stars: u8,
        text: String,
        replies: Vec<String>,
    }

    /// Makes mixed, nested data of about `bytes` of JSON.
    pub(super) fn catalogue(bytes: usize) -> Catalogue {
        const BYTES_PER_PRODUCT: usize = 600;
        let product = |number: usize| Product {
            id: number as u64,
            name: format!("Product {number}"),
            tags: (0..number % 4).map(|tag| format!("tag{tag}")).collect(),
            maker: Maker {
                name: format!("Maker {}", number % 50),
                country: "DE".into(),
                contact: Contact {
                    email: format!("info{}@example.org", number % 50),
                    phones: vec!["+49 30 1234".into(), format!("+49 30 {number}")],
                },
            },
            variants: (0..1 + number % 3)
                .map(|variant| Variant {
                    sku: format!("P{number}-{variant}"),
                    price: 9.99 + variant as f64,
                    stock: (number * 7 % 100) as u32,
                })
                .collect(),
            reviews: (0..number % 3)
                .map(|review| Review {
                    stars: 1 + (number + review) as u8 % 5,
                    text: format!("Works as described, order {number}"),
                    replies: (0..review).map(|reply| format!("Thank you {reply}")).collect(),
                })
                .collect(),
            note: number.is_multiple_of(5).then(|| "ships: tomorrow".into()),
        };
        Catalogue { products: (0..bytes / BYTES_PER_PRODUCT).map(product).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_times_taken_in_the_same_round() {
        // The machine slows down by ten on the way; the ratio stays.
        let rounds = [(1, 2), (10, 20), (10, 20)];
        let times = |(slow, fast): (u64, u64)| [slow, fast].map(Duration::from_millis);
        let turns = Turns(rounds.map(times).to_vec());
        assert_eq!(turns.ratio(1, 0), 2.0);
        assert_eq!(turns.medians(), [10, 20].map(Duration::from_millis));
    }
}
