//! Samuel's own template functions.
//!
//! `join` and `indent` take their arguments in either order, so that both the
//! plain call and the pipeline read well. The others look at the context the
//! template was rendered with (`Project.Root`, `Plugins`,
//! `Guardrails.CommitConvention`, `Mode.Focus`).

use std::fmt::Write;

use crate::{builtins::Call, problem::Failure, text::write_value, value::Value};

/// Joins a list with a separator: `join .List ", "` or `.List | join ", "`.
pub(crate) fn join<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let (first, second) = (call.argument(0), call.argument(1));
    let is_list = |value: &Value<'_>| matches!(value, Value::List(_));
    let (list, separator) = if is_list(first) || !is_list(second) && first.as_str().is_none() {
        (first, second)
    } else {
        (second, first)
    };
    let items = match list {
        Value::Undefined | Value::Nil => return Ok(Value::Text("")),
        Value::List(items) => items,
        _ => return Err(call.wrong_kind("a list", list)),
    };
    let separator = separator.as_str().ok_or_else(|| call.wrong_kind("a string as separator", separator))?;
    call.charge(items.len())?;
    let mut text = call.text();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.write_str(separator)?;
        }
        write_value(&mut text, &item.into())?;
    }
    Ok(text.into_string().into())
}

/// Indents every line that is not empty: `indent 4 .Text`, `.Text | indent 4`.
pub(crate) fn indent<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let (first, second) = (call.argument(0), call.argument(1));
    let (width, value) = if first.as_integer().is_some() { (first, second) } else { (second, first) };
    let columns = width.as_integer().and_then(|columns| usize::try_from(columns).ok());
    let columns = columns
        .filter(|&columns| columns <= 100)
        .ok_or_else(|| call.wrong_kind("a width from 0 to 100", width))?;
    if value.is_nothing() {
        return Ok(Value::Text(""));
    }
    let source = value.as_str().ok_or_else(|| call.wrong_kind("a string", value))?;
    let mut text = call.text();
    for line in source.split_inclusive('\n') {
        if !line.trim_end_matches(['\r', '\n']).is_empty() {
            write!(text, "{:columns$}", "")?;
        }
        text.write_str(line)?;
    }
    Ok(text.into_string().into())
}

/// Makes a path relative to `Project.Root`; a relative one is only tidied.
pub(crate) fn relpath<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let path = call.argument(0);
    if path.is_nothing() {
        return Ok(Value::Text(""));
    }
    let path = path.as_str().ok_or_else(|| call.wrong_kind("a string", path))?;
    let root = look_up(call, "Project", "Root");
    let root = root.as_str().unwrap_or("");
    call.charge(path.len().saturating_add(root.len()).saturating_mul(4))?;
    if path.is_empty() {
        return Ok(Value::Text(""));
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
pub(crate) fn has_plugin<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let name = call.argument(0);
    if name.is_nothing() {
        return Ok(Value::Bool(false));
    }
    let text = name.as_str().ok_or_else(|| call.wrong_kind("a string", name))?;
    call.charge(text.len())?;
    // A namespace is by default the plugin's name with `_` for `-`.
    let namespace = text.replace('-', "_");
    let known = |key: &str| !look_up(call, "Plugins", key).is_nothing();
    Ok(Value::Bool(known(text) || known(&namespace)))
}

/// Describes `Guardrails.CommitConvention`, or the convention given.
pub(crate) fn commit_convention<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let convention = given_or(call, "Guardrails", "CommitConvention")?;
    let text = match convention.to_lowercase().as_str() {
        "" | "none" => "Write commit messages as one imperative sentence that says what changed.",
        "conventional" => {
            "Write commit messages as Conventional Commits: `type(scope): summary`, where \
            type is feat, fix, docs, refactor, test, perf, build, ci or chore."
        }
        "angular" => {
            "Write commit messages in the Angular form: `type(scope): summary` in the \
            imperative, then a body that says why."
        }
        "gitmoji" => {
            "Start each commit message with the gitmoji that fits the change, then a short \
            imperative summary."
        }
        _ => return Ok(format!("Write commit messages by the convention \"{convention}\".").into()),
    };
    Ok(Value::Text(text))
}

/// Describes `Mode.Focus`, or the focus given.
pub(crate) fn focus_description<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let focus = given_or(call, "Mode", "Focus")?;
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
        _ => return Ok(format!("Look for work on {focus}.").into()),
    };
    Ok(Value::Text(text))
}

/// Reads the argument, or a field of the context where there is none.
fn given_or(call: &Call<'_, '_>, group: &str, field: &str) -> Result<String, Failure> {
    let value = call.arguments.first().cloned().unwrap_or_else(|| look_up(call, group, field));
    let text = value.as_str().unwrap_or("").trim();
    call.charge(text.len())?;
    Ok(text.to_owned())
}

/// Reads a field of a group of the context, without a warning.
fn look_up<'v>(call: &Call<'_, 'v>, group: &str, field: &str) -> Value<'v> {
    call.context.get(group).and_then(|group| group.get(field)).map(Value::from).unwrap_or_default()
}
