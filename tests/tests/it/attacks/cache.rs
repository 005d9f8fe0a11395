//! Compiled components that were damaged, exchanged or forged.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use crate::attacks::{
    component::passes,
    kit::{Dice, HANG, Ran, Target, make_fifo, manifest, ran, times},
};

/// A user who has compiled two components.
struct Bench {
    target: Target,
}

impl Bench {
    fn new() -> Self {
        let target = Target::new();
        for word in ["good", "evil"] {
            let tables = "[hooks]\n\"quality.check\" = \"quality-check\"\n[wasm]\nmodule = \"plugin.wasm\"\n";
            let manifest = manifest("wasm", &format!("{word}-check"), tables);
            target.write(&format!("{word}/samuel-plugin.toml"), manifest);
            target.write(&format!("{word}/plugin.wasm"), passes(word));
        }
        Self { target }
    }

    /// Fires the point of a component, as the user with this home.
    fn fire(&self, word: &str, home: &Path) -> Ran {
        let mut command: Command = self.target.samuel(&["plugin", "test", word]);
        command.env("HOME", home);
        ran(command, HANG)
    }

    /// Fires the point of the good one, which must answer as ever.
    fn fires(&self, attack: &str) {
        let ran = self.fire("good", &self.target.home());
        assert!(!ran.hung, "{attack} hangs");
        assert_eq!(ran.code, Some(0), "{attack}: {}", ran.text());
        assert!(ran.text().contains("\"good\""), "{attack}: {}", ran.text());
    }

    /// Returns the only entry that compiling a component adds.
    fn entry_of(&self, word: &str, home: &Path) -> PathBuf {
        let entries = || {
            let entries = fs::read_dir(home.join(".cache/samuel/components")).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        let before = entries();
        assert_eq!(self.fire(word, home).code, Some(0));
        let mut added = entries();
        added.retain(|path| !before.contains(path));
        assert_eq!(added.len(), 1, "{added:?}");
        added.remove(0)
    }
}

#[test]
fn an_entry_that_is_damaged_is_compiled_anew() {
    let bench = Bench::new();
    let entry = bench.entry_of("good", &bench.target.home());
    let whole = fs::read(&entry).unwrap();
    let mut dice = Dice(0x5eed);
    for round in 0..times(24, 80) {
        let mut bytes = whole.clone();
        let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
        let attack = match round % 4 {
            0 => {
                bytes[at] ^= 1 << dice.below(8);
                format!("a bit of byte {at}")
            }
            1 => {
                bytes.truncate(at);
                format!("cut at {at}")
            }
            2 => {
                let end = (at + 64).min(bytes.len());
                bytes[at..end].iter_mut().for_each(|byte| *byte = 0xff);
                format!("64 bytes from {at}")
            }
            _ => {
                bytes.splice(at..at, [0; 16]);
                format!("16 bytes more at {at}")
            }
        };
        fs::write(&entry, &bytes).unwrap();
        bench.fires(&attack);
        assert!(fs::read(&entry).unwrap() != bytes, "{attack} is still there");
        // What was made anew is loaded.
        bench.fires("the new entry");
    }
}

#[test]
fn an_entry_that_was_exchanged_or_forged_is_compiled_anew() {
    let bench = Bench::new();
    let home = bench.target.home();
    let (good, evil) = (bench.entry_of("good", &home), bench.entry_of("evil", &home));
    // Another user, or whoever does not have the key, compiles it for himself.
    let other = bench.target.path("../other");
    fs::create_dir(&other).unwrap();
    let forged = bench.entry_of("evil", &other);
    let key = home.join(".local/state/samuel/component-cache.key");
    for (attack, code) in [("exchanged", fs::read(&evil).unwrap()), ("forged", fs::read(&forged).unwrap())] {
        fs::write(&good, &code).unwrap();
        bench.fires(attack);
        assert!(fs::read(&good).unwrap() != code, "{attack}");
    }
    let key_of = fs::metadata(&key).unwrap();
    assert_eq!((key_of.len(), key_of.permissions().mode() & 0o777), (32, 0o600));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(key.parent().unwrap()), mode(good.parent().unwrap()), mode(&good)),
        (0o700, 0o700, 0o600)
    );
}

/// What stands where an entry stood.
type Attack = fn(&Path);

#[test]
fn an_entry_that_is_no_file_of_a_bounded_size_is_left() {
    let bench = Bench::new();
    let entry = bench.entry_of("good", &bench.target.home());
    let attacks: [(&str, Attack); 5] = [
        ("a FIFO", make_fifo),
        ("a link to an endless file", |path| symlink("/dev/zero", path).unwrap()),
        ("a file of holes", |path| fs::File::create(path).unwrap().set_len(1 << 42).unwrap()),
        ("an empty file", |path| fs::write(path, "").unwrap()),
        ("a directory", |path| fs::create_dir(path).unwrap()),
    ];
    for (attack, make) in attacks {
        fs::remove_file(&entry).unwrap();
        make(&entry);
        bench.fires(attack);
    }
}
