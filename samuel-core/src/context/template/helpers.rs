//! Samuel's own template functions.
//!
//! `join` and `indent` take their arguments in either order, so that both the
//! plain call and the pipeline read well. The others look at the context the
//! template was rendered with (`Project.Root`, `Plugins`,
//! `Guardrails.CommitConvention`, `Mode.Focus`).

use std::fmt::Write;

use minijinja::value::{Value, ValueKind};

use super::{
    builtins::{is_nothing, wrong_kind},
    format::{Text, write_value},
    runtime::{Failure, Meter},
};

/// Joins a list with a separator: `join .List ", "` or `.List | join ", "`.
pub(super) fn join(first: &Value, second: &Value, meter: &Meter<'_>) -> Result<Value, Failure> {
    let is_list = |value: &Value| value.kind() == ValueKind::Seq;
    let (list, separator) = if is_list(first) || !is_list(second) && first.as_str().is_none() {
        (first, second)
    } else {
        (second, first)
    };
    if is_nothing(list) {
        return Ok(Value::from(""));
    }
    if !is_list(list) {
        return Err(wrong_kind("join", "a list", list));
    }
    let separator =
        separator.as_str().ok_or_else(|| wrong_kind("join", "a string as separator", separator))?;
    let mut text = Text::new(meter);
    for (at, item) in list.try_iter().into_iter().flatten().enumerate() {
        if at > 0 {
            text.write_str(separator)?;
        }
        write_value(&mut text, &item)?;
    }
    text.finish(meter)
}

/// Indents every line that is not empty: `indent 4 .Text`, `.Text | indent 4`.
pub(super) fn indent(first: &Value, second: &Value, meter: &Meter<'_>) -> Result<Value, Failure> {
    let is_width = |value: &Value| value.is_integer();
    let (width, value) = if is_width(first) { (first, second) } else { (second, first) };
    let columns = width.is_integer().then(|| width.as_usize()).flatten();
    let columns = columns
        .filter(|&columns| columns <= 100)
        .ok_or_else(|| wrong_kind("indent", "a width from 0 to 100", width))?;
    if is_nothing(value) {
        return Ok(Value::from(""));
    }
    let source = value.as_str().ok_or_else(|| wrong_kind("indent", "a string", value))?;
    let mut text = Text::new(meter);
    for line in source.split_inclusive('\n') {
        if !line.trim_end_matches(['\r', '\n']).is_empty() {
            write!(text, "{:columns$}", "")?;
        }
        text.write_str(line)?;
    }
    text.finish(meter)
}

/// Makes a path relative to `Project.Root`; a relative one is only tidied.
pub(super) fn relpath(path: &Value, meter: &Meter<'_>) -> Result<Value, Failure> {
    if is_nothing(path) {
        return Ok(Value::from(""));
    }
    let path = path.as_str().ok_or_else(|| wrong_kind("relpath", "a string", path))?;
    let root = look_up(meter, "Project", "Root");
    let root = root.as_str().unwrap_or("");
    meter.charge(path.len().saturating_add(root.len()).saturating_mul(4))?;
    if path.is_empty() {
        return Ok(Value::from(""));
    }
    let target = components(path);
    if !is_absolute(path) || !is_absolute(root) {
        let start = if is_absolute(path) { "/" } else { "" };
        return Ok(Value::from(or_dot(format!("{start}{}", target.join("/")))));
    }
    let root = components(root);
    let shared = root.iter().zip(&target).take_while(|(left, right)| left == right).count();
    let up = std::iter::repeat_n("..", root.len() - shared);
    let parts: Vec<&str> = up.chain(target.into_iter().skip(shared)).collect();
    Ok(Value::from(or_dot(parts.join("/"))))
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
}

fn or_dot(path: String) -> String {
    if path.is_empty() { ".".to_owned() } else { path }
}

/// Splits a path and resolves `.` and `..` by their spelling alone.
fn components(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                _ if is_absolute(path) => {}
                _ => parts.push(part),
            },
            _ => parts.push(part),
        }
    }
    parts
}

/// Tells whether a plugin has data, by its namespace or its name.
pub(super) fn has_plugin(name: &Value, meter: &Meter<'_>) -> Result<Value, Failure> {
    if is_nothing(name) {
        return Ok(Value::from(false));
    }
    let text = name.as_str().ok_or_else(|| wrong_kind("hasPlugin", "a string", name))?;
    meter.charge(text.len())?;
    // A namespace is by default the plugin's name with `_` for `-`.
    let namespace = text.replace('-', "_");
    let known = |key: &str| !is_nothing(&look_up(meter, "Plugins", key));
    Ok(Value::from(known(text) || known(&namespace)))
}

/// Describes `Guardrails.CommitConvention`, or the convention given.
pub(super) fn commit_convention(given: Option<&Value>, meter: &Meter<'_>) -> Value {
    let convention = given_or(given, meter, "Guardrails", "CommitConvention");
    Value::from(match convention.to_lowercase().as_str() {
        "" | "none" => "Write commit messages as one imperative sentence that says what changed.".to_owned(),
        "conventional" => "Write commit messages as Conventional Commits: `type(scope): summary`, where \
            type is feat, fix, docs, refactor, test, perf, build, ci or chore."
            .to_owned(),
        "angular" => "Write commit messages in the Angular form: `type(scope): summary` in the \
            imperative, then a body that says why."
            .to_owned(),
        "gitmoji" => "Start each commit message with the gitmoji that fits the change, then a short \
            imperative summary."
            .to_owned(),
        _ => format!("Write commit messages by the convention \"{convention}\"."),
    })
}

/// Describes `Mode.Focus`, or the focus given.
pub(super) fn focus_description(given: Option<&Value>, meter: &Meter<'_>) -> Value {
    let focus = given_or(given, meter, "Mode", "Focus");
    let text = match focus.to_lowercase().as_str() {
        "" | "all" | "general" => "Look at the whole project, and choose what helps it most.",
        "testing" | "tests" => "Look for missing, weak or failing tests.",
        "security" => "Look for security weaknesses: unchecked input, secrets, unsafe defaults.",
        "performance" => "Look for work that is slow or wasteful, and measure before changing it.",
        "documentation" | "docs" => "Look for documentation that is missing, wrong or out of date.",
        "refactoring" | "quality" => {
            "Look for code that is hard to read or change, and make it simpler without changing what it does."
        }
        "bugs" | "fixes" => "Look for defects, and prove each with a failing test.",
        _ => return Value::from(format!("Look for work on {focus}.")),
    };
    Value::from(text)
}

fn given_or(given: Option<&Value>, meter: &Meter<'_>, group: &str, field: &str) -> String {
    let value = given.cloned().unwrap_or_else(|| look_up(meter, group, field));
    value.as_str().unwrap_or("").trim().to_owned()
}

/// Reads a field of a group of the context, without a warning.
fn look_up(meter: &Meter<'_>, group: &str, field: &str) -> Value {
    let group = meter.root().get_attr(group).unwrap_or_default();
    group.get_item(&Value::from(field)).unwrap_or_default()
}
