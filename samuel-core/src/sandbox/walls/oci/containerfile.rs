//! What a Containerfile fetches: nothing, or it is not built.
//!
//! An engine's own options forbid less than they seem to. `ADD` of an address is fetched by the engine itself, outside of
//! the network that the steps of a build are kept from, and docker's builds pull what an image is made of.

/// What is read of a Containerfile: the images that it needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    pub(super) images: Vec<String>,
}

/// Reads which images a Containerfile needs.
///
/// # Errors
/// Returns in words what of it would be fetched, or cannot be told.
pub(super) fn sources(text: &str) -> Result<Sources, String> {
    let mut found = Sources::default();
    let mut stages: Vec<String> = Vec::new();
    for (line, instruction) in instructions(text) {
        let refused = |what: &str| format!("line {line} {what}");
        let mut words = instruction.split_whitespace().map(str::to_owned);
        let mut name = words.next().unwrap_or_default().to_uppercase();
        if name == "ONBUILD" {
            name = words.next().unwrap_or_default().to_uppercase();
        }
        let (options, words): (Vec<String>, Vec<String>) = words.partition(|word| word.starts_with("--"));
        let mut image = |image: &str| {
            if image.contains('$') {
                return Err(refused("names an image by a variable, of which it cannot be told what it is"));
            }
            let is_stage = stages.iter().any(|stage| stage.eq_ignore_ascii_case(image));
            let is_number = image.bytes().all(|byte| byte.is_ascii_digit());
            if image != "scratch"
                && !is_stage
                && !is_number
                && !found.images.iter().any(|known| known == image)
            {
                found.images.push(image.to_owned());
            }
            Ok(())
        };
        match name.as_str() {
            "FROM" => {
                image(words.first().map(String::as_str).unwrap_or_default())?;
                if words.get(1).is_some_and(|word| word.eq_ignore_ascii_case("as")) {
                    stages.extend(words.get(2).cloned());
                }
            }
            "ADD" if words.iter().any(|word| is_remote(word)) => {
                return Err(refused(
                    "adds what would be fetched; an image is built of files that lie beside it",
                ));
            }
            "COPY" => {
                let from = options.iter().filter_map(|option| option.strip_prefix("--from="));
                for from in from {
                    image(from)?;
                }
            }
            "RUN" => {
                let mounts = options.iter().filter_map(|option| option.strip_prefix("--mount="));
                let from =
                    mounts.flat_map(|mount| mount.split(',')).filter_map(|part| part.strip_prefix("from="));
                for from in from {
                    image(from)?;
                }
                if options.iter().any(|option| option.starts_with("--network")) {
                    return Err(refused("asks for a network, which a build does not have"));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Says whether a source of `ADD` is, or may be, somewhere else.
fn is_remote(word: &str) -> bool {
    let word = word.trim_matches(|c: char| matches!(c, '[' | ']' | '"' | ','));
    word.contains("://") || word.starts_with("git@") || word.contains('$')
}

/// Returns the instructions, each with the number of its first line. A directive that names another reader of the file
/// is one, since that is fetched.
fn instructions(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            let directive = comment.trim_start().to_lowercase();
            if directive.replace(' ', "").starts_with("syntax=") {
                found.push((number, format!("ADD {}", "://")));
            }
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let part = line.strip_suffix('\\').unwrap_or(line);
        match found.last_mut().filter(|_| goes_on) {
            Some((_, instruction)) => {
                instruction.push(' ');
                instruction.push_str(part);
            }
            None => found.push((number, part.to_owned())),
        }
        goes_on = line.ends_with('\\');
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_before_a_build_and_stages_are_none() {
        let text = "# a comment\nARG A=1\nFROM debian:12 AS base\nRUN true \\\n  && FROM\nCOPY --from=base /a /b\n\
                    copy --from=localhost/tools /c /d\nFROM scratch\nCOPY --from=0 /a /b\nFROM base\n\
                    RUN --mount=type=bind,from=localhost/more,target=/m ls\n";
        let found = sources(text).map(|found| found.images.join(" "));
        assert_eq!(found.as_deref(), Ok("debian:12 localhost/tools localhost/more"));
    }

    #[test]
    fn what_would_be_fetched_is_refused_with_its_line() {
        for (text, line) in [
            ("FROM scratch\nADD http://127.0.0.1:8765/x /f\n", 2),
            ("FROM scratch\nADD \\\n  https://a.example/x /f\n", 2),
            ("FROM scratch\nONBUILD ADD [\"git@a.example:x/y\", \"/f\"]\n", 2),
            ("ARG U=http://a.example\nFROM scratch\nADD $U /f\n", 3),
            ("ARG I\nFROM $I\n", 2),
            ("# syntax=docker/dockerfile:1\nFROM scratch\n", 1),
            ("FROM a\nRUN --network=host true\n", 2),
        ] {
            let told = sources(text).expect_err(text);
            assert!(told.starts_with(&format!("line {line} ")), "{text}: {told}");
        }
        assert!(sources("FROM scratch\nADD rootfs.tar /\n").is_ok());
    }
}
