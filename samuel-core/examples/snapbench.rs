use samuel_core::methodology::ralph::snapshot::*;
use std::time::{Duration, Instant};
fn main() {
    let root = std::env::args().nth(1).unwrap();
    let cache = std::env::args().nth(2).unwrap();
    for i in 0..8 {
        let mut o = SnapshotOptions::new(jiff::Timestamp::UNIX_EPOCH);
        o.git_env = std::env::vars_os().collect();
        o.cache_dir = Some(cache.clone().into());
        o.time_box = Duration::from_secs(20);
        let t = Instant::now();
        let s = take_snapshot(root.as_ref(), &o).unwrap();
        println!("{i} {:?} files {} shown {} lines {} len {} notes {:?}", t.elapsed(), s.summary.files, s.files.len(), s.summary.lines, s.to_toon().len(), s.summary.notes);
    }
}
