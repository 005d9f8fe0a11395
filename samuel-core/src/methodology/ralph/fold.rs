//! Keeping what handlers before the default produced.
//!
//! At the context points each handler is given the blob of those before it.
//! The defaults add to it: [`fold_toon`] merges objects key by key,
//! [`fold_markdown`] puts the earlier text above its own.

use crate::toon::{self, DecodeOptions, NumberText, Value};

/// A blob that keeps what stood before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// The blob.
    pub text: String,
    /// What could not be kept, each in a few words.
    pub warnings: Vec<String>,
}

/// Adds the keys of an earlier TOON object behind those of the default's own.
///
/// Keys that both have keep the default's value, with a warning if they
/// differ. An earlier blob that is no object is left out, with a warning.
pub fn fold_toon(previous: &str, own: &str) -> Folded {
    let alone = |warnings| Folded { text: own.to_owned(), warnings };
    if previous.trim().is_empty() {
        return alone(Vec::new());
    }
    let merged = object(previous).and_then(|previous| Ok((previous, object(own)?)));
    let (previous, mut folded) = match merged {
        Ok(objects) => objects,
        Err(problem) => return alone(vec![left_out(&problem)]),
    };
    let mut warnings = Vec::new();
    for (key, value) in previous.iter() {
        match folded.get(key) {
            None => {
                folded.insert(key, value.clone());
            }
            Some(kept) if kept != value => {
                warnings.push(format!("the default replaces \"{key}\" of an earlier handler"));
            }
            Some(_) => {}
        }
    }
    match toon::to_string(&Value::Object(folded)) {
        Ok(text) => Folded { text, warnings },
        Err(error) => alone(vec![left_out(&error.to_string())]),
    }
}

fn left_out(problem: &str) -> String {
    format!("the blob of an earlier handler is left out: {problem}")
}

fn object(text: &str) -> Result<toon::Map, String> {
    let options = DecodeOptions { numbers: NumberText::AsWritten, ..DecodeOptions::default() };
    match toon::from_str_with(text, options) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("not an object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Puts an earlier text above the default's own.
pub fn fold_markdown(previous: &str, own: &str) -> String {
    match previous.trim_end() {
        "" => own.to_owned(),
        previous => format!("{previous}\n\n{own}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(previous: &str, own: &str) -> (String, Vec<String>) {
        let Folded { text, warnings } = fold_toon(previous, own);
        (text, warnings)
    }

    #[test]
    fn keys_of_an_earlier_object_are_kept_behind_the_defaults() {
        let (text, warnings) = folded("venv: .venv\nversion: 1.10\n", "mode: implementation\nfiles[2]: a,b");
        assert_eq!(text.trim_end(), "mode: implementation\nfiles[2]: a,b\nvenv: .venv\nversion: 1.10");
        assert_eq!(warnings, [""; 0]);
    }

    #[test]
    fn the_defaults_value_stands_and_the_loss_is_told() {
        let (text, warnings) = folded("mode: tdd\nsame: 1", "mode: implementation\nsame: 1");
        assert_eq!(text.trim_end(), "mode: implementation\nsame: 1");
        assert_eq!(warnings, ["the default replaces \"mode\" of an earlier handler"]);
    }

    #[test]
    fn an_earlier_blob_that_is_no_object_is_left_out() {
        for previous in ["[2]: a,b", "key: \"open", "just text\nand more"] {
            let (text, warnings) = folded(previous, "mode: implementation");
            assert_eq!(text, "mode: implementation", "{previous}");
            assert_eq!(warnings.len(), 1, "{previous}");
            assert!(warnings.concat().starts_with("the blob of an earlier handler is left out: "));
        }
    }

    #[test]
    fn without_an_earlier_blob_the_default_stands_as_it_is() {
        assert_eq!(fold_toon(" \n", "a: 1"), Folded { text: "a: 1".to_owned(), warnings: Vec::new() });
        assert_eq!(fold_markdown("", "# Own\n"), "# Own\n");
    }

    #[test]
    fn an_earlier_text_stands_above() {
        assert_eq!(fold_markdown("# Earlier\n\n", "# Own\n"), "# Earlier\n\n# Own\n");
    }
}
