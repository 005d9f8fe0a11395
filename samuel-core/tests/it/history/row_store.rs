//! A store of a program's own: it keeps the record as rows, and says where to read on by their number.

use std::sync::{Arc, Mutex};

use samuel_core::state::{
    Holder, LaneStore, ReadOn, RecordChunk, RecordPart, RecordPlace, RunDir, StateError, Watch,
};

use crate::history::kit::passes_on_all_but_records;

/// How many rows come at once: so few that every reader has to read on.
const AT_ONCE: usize = 3;
/// The piece that all rows are in. Readers are to give it back as it is.
const PIECE: u64 = 77;

/// A line of a record: whose it is, and its text without its end.
type Row = (String, RecordPart, Vec<u8>);

/// A store that has the record in rows, and all else where another one has it.
#[derive(Debug)]
pub(crate) struct Rows {
    inner: Arc<dyn LaneStore>,
    rows: Mutex<Vec<Row>>,
    watching: Mutex<Vec<(String, ReadOn)>>,
    keeps: bool,
}

impl Rows {
    pub(crate) fn over(inner: Arc<dyn LaneStore>) -> Self {
        Self { inner, rows: Mutex::default(), watching: Mutex::default(), keeps: true }
    }

    /// Keeps no record.
    pub(crate) fn without_records(inner: Arc<dyn LaneStore>) -> Self {
        Self { keeps: false, ..Self::over(inner) }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.lock().unwrap().len()
    }
}

impl LaneStore for Rows {
    fn dir(&self) -> &RunDir {
        self.inner.dir()
    }

    passes_on_all_but_records!();

    fn loop_holder(&self) -> Result<Option<Option<Holder>>, StateError> {
        self.inner.loop_holder()
    }

    fn keeps_records(&self) -> bool {
        self.keeps
    }

    fn append_record(&self, run: &str, part: RecordPart, lines: &[u8]) -> Result<(), StateError> {
        let lines = lines.strip_suffix(b"\n").expect("whole lines are appended");
        let rows = lines.split(|byte| *byte == b'\n').map(|line| (run.to_owned(), part, line.to_vec()));
        self.rows.lock().unwrap().extend(rows);
        self.watching.lock().unwrap().retain(|(watched, read_on)| watched != run || read_on.tell());
        Ok(())
    }

    fn read_record(&self, run: &str, part: RecordPart, from: RecordPlace) -> Result<RecordChunk, StateError> {
        if from != RecordPlace::default() {
            assert_eq!(from.segment(), PIECE, "a place comes back as it was made");
        }
        let rows = self.rows.lock().unwrap();
        let mut chunk = RecordChunk { next: from, ..RecordChunk::default() };
        let is_of_it = |row: &&Row| row.0 == run && row.1 == part;
        let read = usize::try_from(from.offset()).unwrap();
        for (number, row) in (1..).zip(rows.iter().filter(is_of_it)).skip(read).take(AT_ONCE) {
            chunk.lines.extend(&row.2);
            chunk.lines.push(b'\n');
            chunk.next = RecordPlace::at(PIECE, number);
        }
        Ok(chunk)
    }

    fn recorded_runs(&self) -> Result<Vec<String>, StateError> {
        let mut runs: Vec<String> = self.rows.lock().unwrap().iter().map(|row| row.0.clone()).collect();
        runs.sort_unstable();
        runs.dedup();
        Ok(runs)
    }

    fn watch_record(&self, run: &str) -> Watch {
        let (read_on, watch) = Watch::new();
        self.watching.lock().unwrap().push((run.to_owned(), read_on));
        watch
    }
}
