//! What a benchmark printed, and how that compares with what another one did.

use std::collections::{BTreeMap, btree_map::Entry};

use anyhow::{Result, ensure};

/// How many times the time before a figure with a gate may take.
const LIMIT: f64 = 1.05;

/// What was printed as measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// What each round measured, in whatever unit it is printed, which both sides have in common.
    values: Vec<f64>,
    /// Whether a gate is held to it.
    has_gate: bool,
}

/// The figures of one side by their names.
pub(super) type Figures = BTreeMap<String, Figure>;

/// Reads the figures of a table: in each line a name, and behind it the first number with a unit.
pub(super) fn figures(printed: &str) -> Figures {
    printed.lines().filter_map(figure).collect()
}

fn figure(line: &str) -> Option<(String, Figure)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words
        .windows(2)
        .position(|pair| matches!(pair, [number, "us" | "ms" | "x"] if number.parse::<f64>().is_ok()))?;
    let (name, rest) = words.split_at(at);
    let value = rest.first()?.parse().ok()?;
    let has_gate = rest.iter().any(|word| matches!(*word, "pass" | "FAIL"));
    Some((name.join(" "), Figure { values: vec![value], has_gate }))
}

/// Adds what a round has measured.
pub(super) fn gather(all: &mut Figures, measured: Figures) {
    for (name, figure) in measured {
        match all.entry(name) {
            Entry::Occupied(known) => known.into_mut().values.extend(figure.values),
            Entry::Vacant(new) => _ = new.insert(figure),
        }
    }
}

impl Figure {
    fn least(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn middle(&self) -> f64 {
        let mut values = self.values.clone();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    }
}

/// Prints the figures that both have, those of a revision behind those of now.
///
/// # Errors
/// Fails where one with a gate takes too much more than before, or there is none.
pub(super) fn compare(now: &Figures, then: &Figures, revision: &str) -> Result<()> {
    println!("{:<58}{:>11}{:>11}{:>8}", "", "now", revision, "ratio");
    let (mut compared, mut missed) = (0, Vec::new());
    for (name, figure) in now {
        let Some(before) = then.get(name) else { continue };
        let (took, took_before) = (figure.least(), before.middle());
        // What is too little to be measured takes as much as before.
        let ratio = if took == 0.0 { 1.0 } else { took / took_before };
        let verdict = match figure.has_gate {
            true if ratio > LIMIT => "FAIL",
            true => "pass",
            false => "",
        };
        println!("{name:<58}{took:>11.2}{took_before:>11.2}{ratio:>7.2}x   {verdict}");
        compared += usize::from(figure.has_gate);
        if verdict == "FAIL" {
            missed.push(name.as_str());
        }
    }
    ensure!(compared > 0, "nothing with a gate is measured by both");
    ensure!(missed.is_empty(), "more than {LIMIT}x of {revision}: {}", missed.join("; "));
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn measured(values: &[f64], has_gate: bool) -> Figure {
        Figure { values: values.to_vec(), has_gate }
    }

    #[test]
    fn the_figures_of_each_kind_of_table_are_read() {
        let read = figures(
            "the native module is built with the profile wheel\n\
             an inline handler, over a dispatch without one                 0.81 us  at most   2.00   pass\n\
             \x20 one on a worker                                             12.50 us\n\
             toon.dumps to json.dumps, table                                0.60 x   at most   0.50   FAIL\n\
             a call with 4 KB, on an instance of its own                 41.0 us    80.0 us   pass\n\
             an agent's hook that asks its run                3.10 ms   2.00 ms   1.55x     2x  pass  samuel\n",
        );
        let wanted = [
            ("an inline handler, over a dispatch without one", measured(&[0.81], true)),
            ("one on a worker", measured(&[12.5], false)),
            ("toon.dumps to json.dumps, table", measured(&[0.6], true)),
            ("a call with 4 KB, on an instance of its own", measured(&[41.0], true)),
            ("an agent's hook that asks its run", measured(&[3.1], true)),
        ];
        assert_eq!(read, wanted.map(|(name, figure)| (name.to_owned(), figure)).into());
    }

    #[test]
    fn the_least_of_now_is_held_against_the_middle_of_before() {
        let side = |rounds: &[&str]| {
            let mut all = Figures::new();
            rounds.iter().for_each(|printed| gather(&mut all, figures(printed)));
            all
        };
        let gated = |values: [u32; 3]| {
            let rounds =
                values.map(|value| format!("a {value} us 900 us pass\nb 10 us\nonly once {value} us"));
            side(&rounds.each_ref().map(String::as_str))
        };
        let before = gated([100, 400, 90]);
        compare(&gated([300, 500, 105]), &before, "main").unwrap();
        let error = compare(&gated([106, 107, 300]), &before, "main").unwrap_err();
        assert_eq!(error.to_string(), "more than 1.05x of main: a");
        compare(&gated([0, 2, 3]), &gated([0, 0, 0]), "main").unwrap();
        compare(&gated([1, 2, 3]), &gated([0, 0, 0]), "main").unwrap_err();
        let error = compare(&side(&["b 10 us"]), &before, "main").unwrap_err();
        assert_eq!(error.to_string(), "nothing with a gate is measured by both");
    }
}
