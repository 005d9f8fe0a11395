//! Recorded inputs, fed to a fresh machine.

use std::fs;

use samuel_core::{
    history::HistoryError,
    machine::DifferenceKind,
    model::{Coded, ErrorCode},
    testing::completes_each_task,
};

use crate::history::kit::{Numbers, RUN, checked, history, on_disk};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_replays_equal_to_its_end() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let played = bench.play(checked(&bench, "test -f 2nd || { touch 2nd; false; }")).await.unwrap();
    let replay = played.replay().unwrap();
    assert!(replay.equal && replay.ended, "{replay:#?}");
    assert_eq!(replay.iterations, played.report.iterations);
    assert!(!replay.cut_off);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_changed_byte_of_an_input_is_found_and_its_step_named() {
    let bench = on_disk(&[("1", "First")]);
    let played = bench.play(checked(&bench, "true")).await.unwrap();
    let run = played.replay().unwrap().run;
    let path = bench.lane().dir().logs(&run).join("inputs.jsonl");
    let written = fs::read(&path).unwrap();
    let mut numbers = Numbers(7);
    for _ in 0..40 {
        let place = numbers.below(written.len());
        let mut other = written.clone();
        if other[place] == b'\n' {
            continue;
        }
        other[place] = if other[place] == b'x' { b'y' } else { b'x' };
        let step = written[..place].iter().filter(|byte| **byte == b'\n').count();
        fs::write(&path, &other).unwrap();
        match history(&bench).replay(&run) {
            Ok(replay) => {
                let difference = replay.difference.unwrap_or_else(|| panic!("byte {place} of step {step}"));
                assert_eq!(difference.kind, DifferenceKind::Altered, "{difference:#?}");
                assert_eq!(difference.step, Some(step as u64), "{difference:#?}");
                assert_eq!(difference.line, step as u64 + 1, "{difference:#?}");
            }
            // The first line may not be read at all.
            Err(error) => assert_eq!((step, error.code().exit_code), (0, 1), "{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_that_end_before_their_run_did_are_told_as_cut_short() {
    let bench = on_disk(&[("1", "First")]);
    let run = bench.play(checked(&bench, "true")).await.unwrap().replay().unwrap().run;
    let logs = bench.lane().dir().logs(&run);
    let (path, events) = (logs.join("inputs.jsonl"), logs.join("run.jsonl"));
    let written = fs::read(&path).unwrap();
    let told = |inputs: &[u8]| {
        fs::write(&path, inputs).unwrap();
        history(&bench).replay(&run).unwrap()
    };
    let shorter = &written[..written.len() - 1];
    // The end of the last line is changed, is not there, and a whole line is not.
    let without_a_line = written[..shorter.len()].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for inputs in
        [&[shorter, b" "].concat()[..], &[shorter, b"x"].concat(), shorter, &written[..without_a_line]]
    {
        let replay = told(inputs);
        assert!(replay.cut_off && replay.cut_short && !replay.ended, "{replay:#?}");
        assert!(replay.to_string().contains("its end was cut off or changed"), "{replay}");
    }
    // Of a run that was killed neither part tells the end.
    let text = fs::read_to_string(&events).unwrap();
    let without_end: Vec<&str> = text.lines().filter(|line| !line.contains("\"run_finished\"")).collect();
    fs::write(&events, without_end.join("\n") + "\n").unwrap();
    let replay = told(shorter);
    assert!(replay.cut_off && !replay.cut_short, "{replay:#?}");
    assert!(replay.to_string().contains("the run had not ended by then"), "{replay}");
    assert!(!told(&written).cut_off);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_first_line_is_no_other_version_and_no_missing_beginning() {
    let bench = on_disk(&[("1", "First")]);
    let run = bench.play(checked(&bench, "true")).await.unwrap().replay().unwrap().run;
    let path = bench.lane().dir().logs(&run).join("inputs.jsonl");
    let written = fs::read_to_string(&path).unwrap();
    for (found, other) in [("\"machine\":", "\"machina\":"), ("\"machine\":{", "\"machine\":{{")] {
        fs::write(&path, written.replacen(found, other, 1)).unwrap();
        let error = history(&bench).replay(&run).unwrap_err();
        assert_eq!(error.code(), ErrorCode::RECORD_DIFFERS, "{error}");
    }
    fs::write(&path, written).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bench_with_a_run_that_replays_differently_is_dropped_with_a_fault_played_or_not() {
    for replays in [true, false] {
        let bench = on_disk(&[("1", "First")]);
        let handle = bench.run(completes_each_task()).build().unwrap().start().await.unwrap();
        handle.wait().await.unwrap();
        let run = history(&bench).resolve(None).unwrap();
        if !replays {
            let path = bench.lane().dir().logs(&run).join("inputs.jsonl");
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().map(|line| match line.contains("\"iteration_started\"") {
                true => sealed(&line.replacen("\"iteration_started\"", "\"iteration_begun\"", 1)),
                false => line.to_owned(),
            });
            fs::write(&path, lines.collect::<Vec<String>>().join("\n") + "\n").unwrap();
        }
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(bench)));
        assert_eq!(dropped.is_ok(), replays || !cfg!(debug_assertions));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_does_not_follow_is_shown_with_both_sides() {
    let bench = on_disk(&[("1", "First")]);
    let played = bench.play(checked(&bench, "true")).await.unwrap();
    let run = played.replay().unwrap().run;
    let path = bench.lane().dir().logs(&run).join("inputs.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    // As another version of the machine would have recorded it, with a checksum that is right.
    let lines = text.lines().map(|line| match line.contains("\"iteration_started\"") {
        true => sealed(&line.replacen("\"iteration_started\"", "\"iteration_begun\"", 1)),
        false => line.to_owned(),
    });
    let changed: Vec<String> = lines.collect();
    fs::write(&path, changed.join("\n") + "\n").unwrap();
    let replay = history(&bench).replay(&run).unwrap();
    let difference = replay.difference.clone().unwrap();
    assert_eq!(difference.kind, DifferenceKind::Effect);
    assert!(difference.place.ends_with("data.event"), "{difference:#?}");
    assert_eq!(difference.recorded.as_deref(), Some("\"iteration_begun\""));
    assert_eq!(difference.replayed.as_deref(), Some("\"iteration_started\""));
    assert!(replay.to_string().contains("is different"), "{replay}");
    // What comes after a line that is missing is not compared.
    let without: Vec<&str> =
        text.lines().enumerate().filter(|(place, _)| *place != 3).map(|(_, line)| line).collect();
    fs::write(&path, without.join("\n") + "\n").unwrap();
    let missing = history(&bench).replay(&run).unwrap().difference.unwrap();
    assert_eq!((missing.kind, missing.step), (DifferenceKind::Missing, Some(4)));
    let doubled: Vec<&str> = text
        .lines()
        .enumerate()
        .flat_map(|(place, line)| vec![line; if place == 3 { 2 } else { 1 }])
        .collect();
    fs::write(&path, doubled.join("\n") + "\n").unwrap();
    let repeated = history(&bench).replay(&run).unwrap().difference.unwrap();
    assert_eq!((repeated.kind, repeated.step, repeated.line), (DifferenceKind::Repeated, Some(3), 5));
    // A bench is dropped with runs that replay.
    fs::write(&path, text).unwrap();
}

/// Ends a line with the checksum of what it holds.
fn sealed(line: &str) -> String {
    use sha2::Digest as _;
    let body = line.rsplit_once(",\"sum\":\"").unwrap().0;
    let sum: String = sha2::Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{body},\"sum\":\"{}\"}}", &sum[..16])
}

#[tokio::test(flavor = "multi_thread")]
async fn no_machine_is_made_for_a_lane_that_no_run_has() {
    let bench = on_disk(&[("1", "First")]);
    let played = bench.play(checked(&bench, "true")).await.unwrap();
    let run = played.replay().unwrap().run;
    let path = bench.lane().dir().logs(&run).join("inputs.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let begin = text.lines().next().unwrap();
    let replayed = |lanes: u32| {
        let of_lane = |lane| begin.replacen("\"at\":", &format!("\"lane\":{lane},\"at\":"), 1);
        let lines: Vec<String> = (1..=lanes).map(|lane| sealed(&of_lane(lane))).collect();
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        history(&bench).replay(&run).unwrap()
    };
    let replay = replayed(64);
    assert_eq!((replay.equal, replay.lanes), (true, Some(64)), "{replay:#?}");
    let difference = replayed(70).difference.unwrap();
    assert_eq!(
        (difference.kind, difference.lane, difference.line),
        (DifferenceKind::Unreadable, Some(65), 65)
    );
    // A bench is dropped with runs that replay.
    fs::write(&path, text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_replayed_says_why() {
    let bench = on_disk(&[("1", "First")]);
    assert!(matches!(history(&bench).replay(RUN), Err(HistoryError::NoRecord { .. })));
    let path = bench.lane().dir().logs(RUN).join("inputs.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let refused = |text: &str| {
        fs::write(&path, text).unwrap();
        let error = history(&bench).replay(RUN).unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        (error.code(), cause)
    };
    let (code, why) = refused("{\"step\":1}\n");
    assert_eq!(code, ErrorCode::RECORD_NOT_FOUND);
    assert!(why.starts_with("the record does not begin with a machine"), "{why}");
    let (code, why) = refused("{\"begin\":{\"schema_version\":2}}\n");
    assert_eq!(code, ErrorCode::RECORD_VERSION);
    assert_eq!(why, "the record has version 2, and this Samuel replays version 1");
    let (code, why) = refused("{\"begin\":{\"schema_version\":1,\"samuel\":\"1.9.0\",\"machine\":{}}}\n");
    assert_eq!(code, ErrorCode::RECORD_VERSION);
    assert!(why.starts_with("the machine that Samuel 1.9.0 recorded cannot be read"), "{why}");
}
