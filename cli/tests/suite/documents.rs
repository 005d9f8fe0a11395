//! What the documents show of the command is what its help says.

use std::{collections::BTreeMap, fs, path::Path};

use crate::bench::Bench;

/// The help of commands, read once each.
struct Helps {
    bench: Bench,
    read: BTreeMap<Vec<String>, String>,
}

impl Helps {
    fn of(&mut self, command: &[String]) -> &str {
        let bench = &self.bench;
        self.read.entry(command.to_vec()).or_insert_with(|| {
            let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
            bench.ok(&words).stdout
        })
    }

    fn has_command(&mut self, command: &[String], name: &str) -> bool {
        let listed = self.of(command).split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
        let mut names = listed.unwrap_or_default().lines().filter_map(|line| line.split_whitespace().next());
        names.any(|listed| listed == name)
    }

    /// Says what of a command line the command does not know.
    fn unknown(&mut self, line: &str) -> Option<String> {
        let mut words = line.split_whitespace().skip(1).peekable();
        let mut command: Vec<String> = Vec::new();
        while let Some(word) = words.peek().filter(|word| !word.starts_with('-')) {
            let word = (*word).to_owned();
            if self.has_command(&command, &word) {
                command.push(word);
            } else if !["run", "auto"].contains(&command.join(" ").as_str()) {
                // An argument, or no command at all.
                if command.is_empty() {
                    return Some(word);
                }
                break;
            }
            words.next();
        }
        let help = self.of(&command);
        let known: Vec<&str> = help.split(|c: char| c.is_whitespace() || c == ',').collect();
        let option = |word: &str| {
            let word = word.trim_matches(['[', ']', '(', ')', '.', ',']);
            let name = word.split('=').next().unwrap_or_default();
            (name.starts_with('-') && name.chars().any(char::is_alphabetic)).then(|| name.to_owned())
        };
        words.filter_map(option).find(|name| !known.contains(&name.as_str()))
    }
}

/// Returns the command lines of a page: in code within its text, and in its blocks.
fn command_lines(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (place, part) in page.split("```").enumerate() {
        if place % 2 == 0 {
            let code = part.split('`').skip(1).step_by(2);
            found.extend(
                code.filter(|code| code.starts_with("samuel ") && !code.starts_with("samuel ="))
                    .map(str::to_owned),
            );
            continue;
        }
        for line in part.replace("\\\n", " ").lines() {
            let line = line.trim().trim_start_matches("$ ");
            let piped = line.split(" | ").map(str::trim).filter(|each| each.starts_with("samuel "));
            // A key of a manifest is none, nor is a word of a picture.
            found.extend(
                piped
                    .filter(|each| !["samuel =", "samuel  "].iter().any(|no| each.starts_with(no)))
                    .map(str::to_owned),
            );
        }
    }
    let ends = [" #", ";", " && ", " > "];
    let first = |line: String| ends.iter().fold(line, |line, end| line.split(end).next().unwrap().to_owned());
    found.into_iter().map(first).collect()
}

#[test]
fn the_documents_show_commands_and_options_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pages = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = pages.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.extend(["README.md", "CHANGELOG.md", "ARCHITECTURE.md"].map(|name| root.join(name)));
    let mut helps = Helps { bench: Bench::empty(), read: BTreeMap::new() };
    let mut shown = 0;
    for page in pages {
        for line in command_lines(&fs::read_to_string(&page).unwrap()) {
            shown += 1;
            assert_eq!(helps.unknown(&line), None, "{}: {line}", page.display());
        }
    }
    assert!(shown > 100, "only {shown} were found");
}
