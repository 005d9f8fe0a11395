//! What a worker keeps of a log.

use std::fs;

use super::*;

fn path(dir: &Path) -> std::path::PathBuf {
    dir.join("worker/parser.jsonl")
}

#[test]
fn who_starts_again_has_what_it_had_and_reads_on() {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = with_plan("one", &in_dir(dir.path()));
    store.mutate(enqueue("more"), Actor::User).unwrap();
    let digest = store.digest();
    drop(store);
    log.cut_off(true);
    let store = LogStore::open(log.clone(), setup("one-2"), in_dir(dir.path()), clock()).unwrap();
    assert_eq!((store.digest(), titles(&store).len()), (digest, 4), "without the log");
    log.cut_off(false);
    store.mutate(enqueue("and more"), Actor::User).unwrap();
    assert_eq!(in_dir(dir.path()).records(PLAN).unwrap().len(), 3);
}

#[test]
fn a_mirror_with_one_byte_changed_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = with_plan("one", &in_dir(dir.path()));
    store.mutate(claim("1", "left"), Actor::Runtime).unwrap();
    drop(store);
    let whole = fs::read(path(dir.path())).unwrap();
    let refused = |bytes: &[u8], what: &str| {
        fs::write(path(dir.path()), bytes).unwrap();
        let opened = LogStore::open(log.client(), setup("two"), in_dir(dir.path()), clock());
        let error = opened.map(drop).expect_err(what);
        assert_eq!(error.code().name, "E_FLEET_MIRROR", "{what}");
        assert!(error.location().is_some_and(|at| at.line.is_some()), "{what}");
    };
    for at in 0..whole.len() {
        for to in [whole[at] ^ 1, b' ', b'\n'] {
            let mut bytes = whole.clone();
            bytes[at] = to;
            if bytes != whole {
                refused(&bytes, &format!("byte {at} is {to}"));
            }
        }
    }
    // A line that is missing in its midst.
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    refused(&[lines[0], lines[2]].concat(), "a line is missing");
    fs::write(path(dir.path()), &whole).unwrap();
    assert_eq!(titles(&open(&log, "two", &in_dir(dir.path()))).len(), 3);
}

#[test]
fn a_mirror_that_a_crash_tore_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = with_plan("one", &in_dir(dir.path()));
    store.mutate(claim("1", "left"), Actor::Runtime).unwrap();
    let (whole, digest) = (fs::read(path(dir.path())).unwrap(), store.digest());
    drop(store);
    for length in (0..whole.len()).filter(|length| length % 5 == 0 || length + 3 > whole.len()) {
        fs::write(path(dir.path()), &whole[..length]).unwrap();
        let store = open(&log, &format!("w{length}"), &in_dir(dir.path()));
        store.read_on().unwrap();
        assert_eq!(store.digest(), digest, "{length}");
        assert_eq!(fs::read(path(dir.path())).unwrap(), whole, "{length}");
    }
}

#[test]
fn a_mirror_of_another_plan_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = with_plan("one", &in_dir(dir.path()));
    drop(store);
    let setup = LogSetup { plan: "lexer".to_owned(), ..setup("two") };
    assert_eq!(code(LogStore::open(log, setup, in_dir(dir.path()), clock())), "E_FLEET_MIRROR");
}

#[test]
fn nobody_is_told_of_what_could_not_be_mirrored() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new();
    let store = open(&log, "one", &in_dir(dir.path()));
    fs::create_dir_all(path(dir.path())).unwrap();
    let refused = store.import(plan_of(&["1"]), Actor::User, Existing::Refuse).unwrap_err();
    assert_eq!(refused.code().name, "E_STATE_IO");
    assert_eq!(refused.location().unwrap().file, path(dir.path()));
    fs::remove_dir(path(dir.path())).unwrap();
    assert!(store.retry().unwrap().is_some());
    assert_eq!((log.records().len(), in_dir(dir.path()).records(PLAN).unwrap().len()), (1, 1));
    store.mutate(enqueue("more"), Actor::User).unwrap();
    assert_eq!(titles(&store).len(), 2);
}

#[test]
fn a_mirror_is_of_one_store_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = with_plan("one", &in_dir(dir.path()));
    let opened = LogStore::open(log.client(), setup("two"), in_dir(dir.path()), clock());
    let refused = opened.map(drop).unwrap_err();
    assert_eq!(refused.code().name, "E_FLEET_WRITER");
    assert_eq!(
        refused.to_string(),
        format!(
            "the mirror {} is in use by process {} (mirror, since 2026-01-01T00:00:00Z)",
            path(dir.path()).display(),
            std::process::id()
        )
    );
    store.mutate(enqueue("more"), Actor::User).unwrap();
    let digest = store.digest();
    drop(store);
    let again = open(&log, "two", &in_dir(dir.path()));
    assert_eq!((again.digest(), titles(&again).len()), (digest, 4), "it is whole");
}

#[test]
fn nobody_is_told_of_what_could_not_be_mirrored_however_long_what_was_read_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = with_plan("one", &in_dir(dir.path()));
    drop(store);
    let setup = LogSetup { trusted_for: Duration::MAX, ..setup("two") };
    let store = LogStore::open(log.client(), setup, in_dir(dir.path()), clock()).unwrap();
    store.read_on().unwrap();
    let aside = dir.path().join("aside");
    fs::rename(path(dir.path()), &aside).unwrap();
    fs::create_dir(path(dir.path())).unwrap();
    assert_eq!(code(store.mutate(enqueue("more"), Actor::User)), "E_STATE_IO");
    assert_eq!(code(store.retry()), "E_STATE_IO", "it still cannot be written");
    fs::remove_dir(path(dir.path())).unwrap();
    fs::rename(&aside, path(dir.path())).unwrap();
    assert!(store.retry().unwrap().is_some());
    drop(store);
    assert_eq!((log.records().len(), in_dir(dir.path()).records(PLAN).unwrap().len()), (2, 2));
}
