//! What is told where the store of a run's record breaks, or a loop begins or ends meanwhile.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use samuel_core::{
    history::{History, HistoryError, WhyQuestion},
    model::TaskId,
    project::{NextStep, Project},
    state::{
        Actor, Holder, LaneStore, Mutation, RecordChunk, RecordPart, RecordPlace, RunDir, StateError, Watch,
    },
    testing::Bench,
};

use crate::history::kit::{HANG, RUN, on_disk, passes_on_all_but_records};

/// A store of a run that does as a test wants.
#[derive(Debug)]
struct Odd {
    inner: Arc<dyn LaneStore>,
    dir: RunDir,
    /// Whether a loop is at work, one time after the other; the last one stands.
    at_work: Mutex<VecDeque<bool>>,
    panics: bool,
}

impl Odd {
    fn around(bench: &Bench, at_work: &[bool], panics: bool) -> Project {
        let (inner, at_work) = (bench.lane(), Mutex::new(at_work.iter().copied().collect()));
        let odd = Self { dir: inner.dir().clone(), inner, at_work, panics };
        bench.project().clone().with_lane_store(Arc::new(odd))
    }
}

impl LaneStore for Odd {
    fn dir(&self) -> &RunDir {
        &self.dir
    }

    passes_on_all_but_records!();

    fn loop_holder(&self) -> Result<Option<Option<Holder>>, StateError> {
        let mut at_work = self.at_work.lock().unwrap();
        let is_at_work = if at_work.len() > 1 { at_work.pop_front() } else { at_work.front().copied() };
        let holder = || Some(Holder::this_process(jiff::Timestamp::UNIX_EPOCH, format!("run {RUN}")));
        Ok(is_at_work.unwrap_or_default().then(holder))
    }

    fn append_record(&self, run: &str, part: RecordPart, lines: &[u8]) -> Result<(), StateError> {
        self.inner.append_record(run, part, lines)
    }

    fn read_record(&self, run: &str, part: RecordPart, from: RecordPlace) -> Result<RecordChunk, StateError> {
        assert!(!self.panics, "the store is broken");
        self.inner.read_record(run, part, from)
    }

    fn recorded_runs(&self) -> Result<Vec<String>, StateError> {
        self.inner.recorded_runs()
    }

    fn watch_record(&self, run: &str) -> Watch {
        self.inner.watch_record(run)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_whose_store_breaks_ends_with_an_error() {
    let bench = on_disk(&[("1", "First")]);
    let mut tail = History::of(&Odd::around(&bench, &[false], true)).tail(RUN);
    let read = tokio::time::timeout(HANG, tail.next()).await.unwrap();
    assert!(matches!(read, Err(HistoryError::Broken { .. })), "{read:?}");
    assert!(tail.next().await.unwrap().is_none(), "and there is nothing more");
    assert!(tail.check_told().is_err());
}

#[test]
fn who_works_on_the_plan_and_the_plan_are_of_one_moment() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let claim = |id: &str| {
        let worker = format!("{RUN}/lane-{id}");
        let claim = Mutation::Claim { task: TaskId::new(id).into(), worker };
        bench.project().plan_store().mutate(claim, Actor::Runtime).unwrap();
    };
    ["1", "2"].iter().for_each(|id| claim(id));
    let project = |at_work: &[bool]| Odd::around(&bench, at_work, false);
    let next = |at_work: &[bool]| History::of(&project(at_work)).why(&WhyQuestion::Next).unwrap();
    let (gone, under_way) = (next(&[false]), next(&[true]));
    assert!(gone.answer.starts_with("1 First is next: ") && gone.remedies.len() == 1, "{gone:#?}");
    assert_eq!(under_way.answer, "nothing else can be started: 2 tasks are under way");
    assert!(under_way.remedies.is_empty(), "{under_way:#?}");
    // A loop that ends, or begins, while all of it is read.
    assert_eq!(next(&[true, false]), gone);
    assert_eq!(next(&[false, true]), under_way);
    let status = project(&[false, true]).status().unwrap();
    assert!(status.running && matches!(status.next, NextStep::UnderWay { tasks: 2, .. }), "{status:#?}");
}
