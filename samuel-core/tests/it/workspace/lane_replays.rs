//! Records of runs with several lanes, replayed once their inputs are not what they were.

use std::{fs, path::PathBuf};

use samuel_core::{
    history::History,
    machine::{DifferenceKind, Replay},
    project::Project,
};

use crate::workspace::{
    kit::User,
    lanes::{lanes, makes_a_file, project},
    runs::played,
};

/// A run of three lanes with its inputs, which are put back in the end.
struct Recorded {
    _user: User,
    project: Project,
    run: String,
    path: PathBuf,
    written: String,
}

impl Recorded {
    async fn new() -> Self {
        let user = User::new();
        let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
        let told = played(lanes(&user, &project, 3, makes_a_file(), &["true"])).await.unwrap();
        let run = told.events.first().unwrap().run_id.to_string();
        let path = project.lane_store().dir().logs(&run).join("inputs.jsonl");
        let written = fs::read_to_string(&path).unwrap();
        Self { _user: user, project, run, path, written }
    }

    /// Replays the run as if these were its inputs.
    fn replay(&self, inputs: &str) -> Replay {
        fs::write(&self.path, inputs).unwrap();
        let replay = History::of(&self.project).replay(&self.run).unwrap();
        fs::write(&self.path, &self.written).unwrap();
        replay
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_input_of_any_lane_is_found_and_its_lane_named() {
    let recorded = Recorded::new().await;
    let written = &recorded.written;
    for lane in 1..=3 {
        let other = format!("\"lane\":{lane},\"step\":2,");
        assert!(written.contains(&other), "{written}");
        let replayed = |text: String| recorded.replay(&text).difference.unwrap();
        let changed = replayed(written.replace(&other, &format!("\"lane\":{lane},\"step\":9,")));
        assert_eq!((changed.kind, changed.lane), (DifferenceKind::Altered, Some(lane)), "{changed:#?}");
        let without: Vec<&str> = written.lines().filter(|line| !line.contains(&other)).collect();
        let missing = replayed(without.join("\n") + "\n");
        assert_eq!(
            (missing.kind, missing.lane, missing.step),
            (DifferenceKind::Missing, Some(lane), Some(3))
        );
        // What is no JSON any more is known by its line alone.
        let line = written.lines().position(|line| line.contains(&other)).unwrap() + 1;
        let broken = replayed(written.replace(&other, &format!("\"lane\":{lane}#\"step\":2,")));
        assert_eq!((broken.kind, broken.lane, broken.step), (DifferenceKind::Altered, None, None));
        assert_eq!(broken.to_string(), format!("line {line} was changed after it was recorded"));
        let twice = written.lines().nth(line - 1).unwrap();
        let repeated = replayed(format!("{written}{twice}\n"));
        assert_eq!(
            (repeated.kind, repeated.lane, repeated.step),
            (DifferenceKind::Repeated, Some(lane), Some(2))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_inputs_of_lanes_end_is_told_with_the_lanes() {
    let recorded = Recorded::new().await;
    let written = &recorded.written;
    let replayed = |text: &str| {
        let replay = recorded.replay(text);
        assert!(replay.equal, "{replay:#?}");
        (replay.cut_off, replay.cut_off_lanes.clone(), replay.to_string())
    };
    assert!(!replayed(written).0);
    let (cut_off, _, text) = replayed(&written[..written.len() / 2]);
    let how = "its end was cut off or changed, since the run went on and ended";
    assert!(cut_off && text.ends_with(how), "{text}");
    for lane in 1..=3 {
        let of_lane = format!("\"lane\":{lane},\"step\":");
        let of_others: String = written
            .split_inclusive('\n')
            .filter(|line| !line.contains(&format!("\"lane\":{lane},")))
            .collect();
        let step =
            |line: &str| line.split_once(&of_lane).and_then(|(_, rest)| rest.split(',').next()?.parse().ok());
        let half: String = written
            .split_inclusive('\n')
            .filter(|line| step(line).is_none_or(|step: u32| step < 4))
            .collect();
        for text in [of_others, half] {
            let (cut_off, lanes, text) = replayed(&text);
            assert_eq!((cut_off, lanes), (true, vec![lane]), "{text}");
            assert!(text.ends_with(&format!("; the inputs of lane {lane} are not all there")), "{text}");
        }
    }
}
