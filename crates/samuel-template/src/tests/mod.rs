//! The template engine through its public face.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a failed test may panic")]

mod functions;
mod language;
mod limits;
mod problems;
mod properties;

use serde_json::{Value as Json, json};

use super::{Rendered, Template, TemplateError};

/// A context with something of every kind.
fn context() -> Json {
    json!({
        "Name": "samuel",
        "Empty": "",
        "Count": 3,
        "Zero": 0,
        "Ratio": 0.5,
        "Yes": true,
        "No": false,
        "Nothing": null,
        "List": ["a", "b", "c"],
        "Numbers": [1, 2, 3, 4],
        "NoList": [],
        "NoMap": {},
        "Map": {"zeta": 26, "alpha": 1, "beta": 2},
        "Project": {"Name": "demo", "Root": "/work/demo"},
        "Plugins": {"python": {"Venv": ".venv"}, "my_lint": {}, "odd-name": {"a b": "spaced"}},
        "Guardrails": {"CommitConvention": "conventional"},
        "Mode": {"Focus": "testing"},
        "Tasks": [
            {"ID": "1", "Title": "First", "Files": ["x.rs", "y.rs"]},
            {"ID": "2", "Title": "Second", "Files": []},
        ],
    })
}

fn try_render(source: &str) -> Result<Rendered, TemplateError> {
    Template::parse("test.tmpl", source)?.render(&context())
}

/// Renders without any warning.
fn render(source: &str) -> String {
    let rendered = try_render(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    assert_eq!(rendered.warnings, [], "{source}");
    rendered.text
}

/// Renders each source and compares.
fn assert_renders(table: &[(&str, &str)]) {
    for (source, expected) in table {
        assert_eq!(render(source), *expected, "{source}");
    }
}

/// Describes the error of a template as `line:column message`.
fn problem(source: &str) -> String {
    let error = match try_render(source) {
        Err(error) => error,
        Ok(rendered) => panic!("{source} rendered {rendered:?}"),
    };
    let text = error.to_string();
    assert!(error.help().len() > 10, "{source} has no help");
    text.strip_prefix("test.tmpl:").unwrap_or(&text).to_owned()
}

fn assert_problems(table: &[(&str, &str)]) {
    for (source, expected) in table {
        assert_eq!(problem(source), *expected, "{source}");
    }
}
