//! Conversion of documents that nobody wrote: no panic, memory and time within
//! what the size of a document allows. `SAMUEL_LONG=1` converts 100,000 of them.

#[path = "../../src/tests/mutate.rs"]
mod mutate;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    fs,
    path::{Path, PathBuf},
};

use mutate::{Random, mutate};
use samuel_prd::{Document, convert};

/// Counts what each thread allocates: other tests run in other threads of this process.
struct Counting;

thread_local! {
    /// The bytes that this thread has allocated, without those it has freed. Negative if it frees what another one allocated.
    static NOW: Cell<isize> = const { Cell::new(0) };
    /// The highest value of `NOW` since it was last set.
    static MOST: Cell<isize> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "an allocator is unsafe; this one hands everything on")]
// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.get().wrapping_add_unsigned(layout.size());
        NOW.set(now);
        MOST.set(MOST.get().max(now));
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.set(NOW.get().wrapping_sub_unsigned(layout.size()));
        // SAFETY: as the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a conversion may take beyond ten times its input.
const SPARE: usize = 16 << 20;

/// Returns the most memory that a conversion had at a time, and the processor's
/// time it took in nanoseconds.
fn measured(document: &Document) -> (usize, u128) {
    let cpu = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as u128 * 1_000_000_000 + time.tv_nsec as u128
    };
    let before = NOW.get();
    MOST.set(before);
    let start = cpu();
    drop(convert(document, None, jiff::Timestamp::UNIX_EPOCH));
    (MOST.get().abs_diff(before), cpu() - start)
}

fn corpus() -> Vec<Document> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/prd");
    let directories =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = directories.flat_map(|path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
    let mut paths: Vec<PathBuf> =
        files.filter(|path| !path.to_str().unwrap().ends_with(".expected.json")).collect();
    paths.sort();
    paths.into_iter().map(|path| Document::new(path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn mutated_documents_and_hostile_ones_take_what_their_size_allows() {
    let corpus = corpus();
    let rounds = if std::env::var_os("SAMUEL_LONG").is_some() { 100_000 } else { 3_000 };
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let (one, other) = (&corpus[random.below(corpus.len())], &corpus[random.below(corpus.len())]);
        let mut text = mutate(&mut random, &one.text, &other.text);
        if random.below(50) == 0 {
            text = text.repeat(1 + random.below(200));
        }
        let document = Document::new(one.path.clone(), text);
        let (memory, time) = measured(&document);
        let bytes = document.text.len();
        assert!(memory <= 10 * bytes + SPARE, "seed {seed}: {memory} bytes for {bytes}");
        // A debug build takes some microseconds a byte; what is not linear takes
        // seconds for a long document.
        assert!(time <= 200_000_000 + 20_000 * bytes as u128, "seed {seed}: {time} ns for {bytes} bytes");
    }
    let pieces = [
        "- [ ] a\n",
        "- [-] ~~a~~ (P1) (P1)\n",
        "### 1 a\n\n",
        "| a |\n",
        "*a",
        "__a",
        "[a](b) ",
        "1. a\n",
        "(P1) ",
        "# a\n- [ ] b\n",
    ];
    for piece in pieces {
        let [small, large] = [20_000, 160_000].map(|bytes: usize| {
            let text = format!("## Tasks\n\n{}", piece.repeat(bytes / piece.len()));
            measured(&Document::new("prd.md", text))
        });
        assert!(small.0 <= 10 * 20_000 + SPARE, "{piece:?}: {} bytes", small.0);
        // A task of eight bytes takes more than eighty.
        assert!(large.0 <= 10 * small.0, "{piece:?} takes memory out of proportion: {small:?}, {large:?}");
        assert!(large.1 <= 24 * small.1 + 50_000_000, "{piece:?} is not linear: {small:?}, {large:?}");
    }
}
