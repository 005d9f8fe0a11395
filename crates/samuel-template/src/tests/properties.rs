//! What holds for every input.

use proptest::prelude::*;
use serde_json::json;

use super::context;
use crate::{Template, TemplateLimits};

/// Bits of templates that fit together often enough to reach the renderer.
fn fragment() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "{{",
        "}}",
        "{{- ",
        " -}}",
        "{{/*",
        "*/}}",
        "{{ end }}",
        "{{ else }}",
        "{{ if .Yes }}",
        "{{ range .List }}",
        "{{ range $i, $e := .Map }}",
        "{{ with .Project }}",
        "{{ break }}",
        "{{ $x := .Count }}",
        "{{ $x = 3 }}",
        "{{ $x }}",
        "{{ define \"t\" }}",
        "{{ template \"t\" . }}",
        "{{ else if .No }}",
        "{{ block \"b\" . }}",
        " | ",
        "(",
        ")",
        ".A",
        ".",
        "$",
        "\"",
        "`",
        "'",
        "\\",
        "printf \"%d\" ",
        "eq 1 ",
        "index .List ",
        "-1",
        "0x",
        "1e9",
        ":=",
        "=",
        ",",
        "{%",
        "%}",
        "{#",
        "é🚀",
        "\n",
        "{{ .Name | printf \"%5s\" }}",
        "{{ slice .List 1 }}",
        "{{ join .List \",\" }}",
        "{{ print . }}",
    ]);
    prop_oneof![4 => fixed.prop_map(str::to_owned), 1 => ".{0,6}"]
}

/// Blocks that nest and cost much, around what they are given.
fn costly() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "{{ . }}",
        "{{ $.List }}",
        "{{ $.Plugins.nope }}",
        "{{ index $.List 7 }}",
        "{{ $x = print $x $x }}",
        "{{ template `part` . }}",
        "{{ printf `%1000v|%-1000.1000f` $.Name 1 }}",
        "{{ if eq $x `v` }}{{ break }}{{ else }}{{ continue }}{{ end }}",
    ]);
    let block = prop::sample::select(vec![
        "{{ range 9223372036854775807 }}",
        "{{ range $i, $e := $.Map }}",
        "{{ with $.Project }}",
        "{{ if $x }}",
        "{{ if $.No }}{{ else if $y := $x }}",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(60, 400, 4, move |inner| {
        (block.clone(), prop::collection::vec(inner, 1..4))
            .prop_map(|(open, body)| format!("{open}{}{{{{ end }}}}", body.concat()))
    })
}

proptest! {
    #[test]
    fn no_input_panics(source in prop_oneof![
        any::<String>(),
        prop::collection::vec(fragment(), 0..24).prop_map(|parts| parts.concat()),
    ]) {
        let limits = TemplateLimits { fuel: 20_000, ..TemplateLimits::default() };
        match Template::parse_with("p", &source, limits) {
            Err(error) => {
                let location = error.location().unwrap();
                prop_assert!(location.line >= 1 && location.column >= 1);
                prop_assert!(location.line <= source.matches('\n').count() + 1);
            }
            Ok(template) => {
                let _ = template.render(&context());
            }
        }
    }

    #[test]
    fn no_rendering_passes_its_limits(first in costly(), second in costly(), fuel in 0u64..20_000) {
        let source = format!(
            "{{{{ $x := `v` }}}}{{{{ range 2 }}}}{first}{{{{ end }}}}\
             {{{{ define `part` }}}}{{{{ $x := `v` }}}}{{{{ range 2 }}}}{second}{{{{ end }}}}{{{{ end }}}}"
        );
        let limits = TemplateLimits { fuel, work_bytes: 50_000, output_bytes: 5_000, ..TemplateLimits::default() };
        match Template::parse_with("p", &source, limits).and_then(|template| template.render(&context())) {
            Ok(rendered) => prop_assert!(rendered.text.len() <= limits.output_bytes),
            Err(error) => prop_assert!(error.location().is_some_and(|at| at.line == 1), "{}", error),
        }
    }

    #[test]
    fn text_without_actions_renders_to_itself(source in any::<String>().prop_filter("no action", |s| !s.contains("{{"))) {
        let rendered = Template::parse("p", &source).unwrap().render(&()).unwrap();
        prop_assert_eq!(rendered.text, source);
        prop_assert!(rendered.warnings.is_empty());
    }

    #[test]
    fn a_string_value_renders_to_itself(value in any::<String>()) {
        let template = Template::parse("p", "[{{ .X }}]").unwrap();
        let rendered = template.render(&json!({"X": value})).unwrap();
        prop_assert_eq!(rendered.text, format!("[{value}]"));
    }

    #[test]
    fn a_string_literal_renders_to_itself(value in "[^`\r]{0,40}") {
        let source = format!("{{{{ `{value}` }}}}");
        let rendered = Template::parse("p", &source).unwrap().render(&()).unwrap();
        prop_assert_eq!(rendered.text, value);
    }

    #[test]
    fn an_integer_literal_renders_to_itself(value in any::<i64>()) {
        let rendered = Template::parse("p", &format!("{{{{ {value} }}}}")).unwrap().render(&()).unwrap();
        prop_assert_eq!(rendered.text, value.to_string());
    }
}
