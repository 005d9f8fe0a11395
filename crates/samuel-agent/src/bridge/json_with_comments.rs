//! JSON with comments, as settings are written.

/// Returns the text with a space in the place of each comment, so that it is JSON.
pub(super) fn stripped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match (in_string, c, chars.peek()) {
            (true, '\\', _) => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            (false, '/', Some('/')) => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                out.push(' ');
                continue;
            }
            (false, '/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
                out.push(' ');
                continue;
            }
            (_, '"', _) => in_string = !in_string,
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_left_out_and_strings_stay() {
        let text = "{ // one\n \"a\": \"http://x/*y*/\\\"//\", /* two\n * */ \"b\": 1 }";
        let value: serde_json::Value = serde_json::from_str(&stripped(text)).expect("it is JSON then");
        assert_eq!(value, serde_json::json!({"a": "http://x/*y*/\"//", "b": 1}));
    }
}
