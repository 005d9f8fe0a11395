//! Choosing files that stand for a project.
//!
//! [`sample`] picks a number of files so that every part of the tree is seen:
//! a directory's share is divided evenly among its subdirectories and its own
//! files, and what one cannot use goes to the others. Within a directory the
//! more telling file comes first. Nothing depends on the order of the input
//! beyond its being sorted by path.

use super::classify::FileKind;
use std::ops::Range;

/// A file that can be chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    /// Its path, relative to the project.
    pub(super) path: &'a str,
    /// What it is for.
    pub(super) kind: FileKind,
    /// What the caller knows it by.
    pub(super) index: usize,
}

/// Chooses `count` of the files, which are sorted by path, and returns their
/// indices, sorted by path too.
pub(super) fn sample(files: &[Candidate<'_>], count: usize) -> Vec<usize> {
    if count >= files.len() {
        return files.iter().map(|file| file.index).collect();
    }
    let mut chosen = Vec::with_capacity(count);
    take(files, 0, count, &mut chosen);
    chosen.sort_unstable_by_key(|file| file.path);
    chosen.iter().map(|file| file.index).collect()
}

/// Chooses from one directory, whose path is the first `depth` bytes.
fn take<'a>(files: &[Candidate<'a>], depth: usize, count: usize, chosen: &mut Vec<Candidate<'a>>) {
    let Directory { mut own, mut below } = list(files, depth);
    // The larger of two subdirectories is the more important one.
    below.sort_by_key(|directory| (std::cmp::Reverse(directory.files.len()), directory.files.start));
    let sizes: Vec<usize> =
        std::iter::once(own.len()).chain(below.iter().map(|directory| directory.files.len())).collect();
    let mut shares = divide(count, &sizes).into_iter();

    let own_share = shares.next().unwrap_or(0);
    // They are sorted by path, and stay so where they matter alike.
    own.sort_by_key(importance);
    chosen.extend(own.into_iter().take(own_share));
    for (directory, share) in below.iter().zip(shares).filter(|(_, share)| *share > 0) {
        let inside = files.get(directory.files.clone()).unwrap_or_default();
        take(inside, directory.depth, share, chosen);
    }
}

struct Directory<'a> {
    own: Vec<Candidate<'a>>,
    below: Vec<Subdirectory>,
}

struct Subdirectory {
    files: Range<usize>,
    depth: usize,
}

/// Splits the files of a directory into its own and those of each
/// subdirectory. Sorted paths keep a directory's files together.
fn list<'a>(files: &[Candidate<'a>], depth: usize) -> Directory<'a> {
    let mut directory = Directory { own: Vec::new(), below: Vec::new() };
    let mut position = 0;
    while let Some(file) = files.get(position) {
        let rest = file.path.get(depth..).unwrap_or_default();
        let Some(slash) = rest.find('/') else {
            directory.own.push(*file);
            position += 1;
            continue;
        };
        let name = rest.get(..=slash).unwrap_or_default();
        let inside =
            |other: &Candidate<'_>| other.path.get(depth..).is_some_and(|rest| rest.starts_with(name));
        let end = position + files.get(position..).unwrap_or_default().partition_point(inside);
        directory.below.push(Subdirectory { files: position..end, depth: depth + slash + 1 });
        position = end;
    }
    directory
}

/// Gives each part one until nothing is left; no part gets more than it has.
fn divide(count: usize, sizes: &[usize]) -> Vec<usize> {
    let mut shares = vec![0; sizes.len()];
    let mut left = count.min(sizes.iter().sum());
    while left > 0 {
        for (share, size) in shares.iter_mut().zip(sizes) {
            if left > 0 && *share < *size {
                *share += 1;
                left -= 1;
            }
        }
    }
    shares
}

/// Ranks a file within its directory: what a newcomer opens first is lowest.
fn importance(file: &Candidate<'_>) -> u8 {
    let name = file.path.rsplit_once('/').map_or(file.path, |(_, name)| name);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let is_entry =
        matches!(stem, "main" | "lib" | "mod" | "index" | "app" | "__init__" | "__main__" | "README");
    match file.kind {
        FileKind::Build => 0,
        FileKind::Source | FileKind::Doc if is_entry => 1,
        FileKind::Source => 2,
        FileKind::Test => 3,
        FileKind::Config | FileKind::Doc => 4,
        FileKind::Data | FileKind::Asset | FileKind::Other => 5,
        FileKind::Generated => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::super::classify::classify;
    use super::*;

    fn choose<'a>(paths: &[&'a str], count: usize) -> Vec<&'a str> {
        let mut paths = paths.to_vec();
        paths.sort_unstable();
        let candidates: Vec<Candidate<'_>> = paths
            .iter()
            .enumerate()
            .map(|(index, path)| Candidate { path, kind: classify(path).kind, index })
            .collect();
        sample(&candidates, count).into_iter().filter_map(|index| paths.get(index).copied()).collect()
    }

    #[test]
    fn everything_is_chosen_when_there_is_room() {
        assert_eq!(choose(&["b.rs", "a/c.rs"], 5), ["a/c.rs", "b.rs"]);
    }

    #[test]
    fn every_directory_is_seen_before_one_is_seen_twice() {
        let paths = ["a/1.rs", "a/2.rs", "a/3.rs", "b/1.rs", "c/d/1.rs", "c/d/2.rs", "e.rs"];
        assert_eq!(choose(&paths, 4), ["a/1.rs", "b/1.rs", "c/d/1.rs", "e.rs"]);
    }

    #[test]
    fn what_a_directory_cannot_use_goes_to_the_others() {
        let paths = ["a/1.rs", "b/1.rs", "b/2.rs", "b/3.rs", "b/4.rs"];
        assert_eq!(choose(&paths, 4), ["a/1.rs", "b/1.rs", "b/2.rs", "b/3.rs"]);
    }

    #[test]
    fn the_more_telling_file_of_a_directory_comes_first() {
        let paths = ["a.csv", "a.rs", "a_test.go", "Cargo.toml", "main.rs", "Cargo.lock"];
        assert_eq!(choose(&paths, 3), ["Cargo.toml", "a.rs", "main.rs"]);
    }

    #[test]
    fn names_that_sort_between_a_directory_and_its_files_do_not_split_it() {
        let paths = ["a-b.rs", "a.rs", "a/1.rs", "a/2.rs", "a0.rs"];
        assert_eq!(choose(&paths, 2), ["a-b.rs", "a/1.rs"]);
    }
}
