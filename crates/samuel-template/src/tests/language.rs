//! The forms of the language, each rendered.

use super::{assert_renders, context, render, try_render};
use crate::Template;

#[test]
fn text_in_the_syntax_of_other_languages_comes_through_verbatim() {
    for text in [
        "{% if x %}{# no #}{%- raw -%} }} %} #} {",
        "\\n \\\" \" ' \u{0}\u{7}\t é🚀\r\n end",
        "{% endraw %}\n\n  spaced  \n",
    ] {
        assert_eq!(render(text), text);
    }
    assert_renders(&[
        (r#"{{"{{"}} x {{"}}"}}"#, "{{ x }}"),
        ("{{`{% raw %}`}}{# kept #}", "{% raw %}{# kept #}"),
    ]);
}

#[test]
fn values_are_never_read_as_template_syntax() {
    let context = serde_json::json!({"X": "{{ .Y }}{% if %}{# <b> & \"q\" $(touch p)"});
    let template = Template::parse("t", "{{ .X }}|{{ printf \"%s\" .X }}|{{ print .X }}").unwrap();
    let rendered = template.render(&context).unwrap();
    let value = "{{ .Y }}{% if %}{# <b> & \"q\" $(touch p)";
    assert_eq!(rendered.text, format!("{value}|{value}|{value}"));
    assert_eq!(rendered.warnings, []);
}

#[test]
fn paths_reach_into_maps() {
    assert_renders(&[
        ("{{ .Name }}", "samuel"),
        ("{{.Plugins.python.Venv}}", ".venv"),
        ("{{ $.Project.Name }}", "demo"),
        ("{{ (index .Tasks 0).Title }}", "First"),
        ("{{ with .Project }}{{ . | len }}{{ end }}", "2"),
        ("{{ $p := .Project }}{{ $p.Name }}", "demo"),
    ]);
}

#[test]
fn values_print_as_go_prints_them() {
    assert_renders(&[
        ("{{ .Count }} {{ .Ratio }} {{ .Yes }} {{ .Nothing }}|", "3 0.5 true |"),
        ("{{ .List }} {{ .Map }}", "[a b c] map[alpha:1 beta:2 zeta:26]"),
        ("{{ 1e6 }} {{ 123456.5 }} {{ 1e-5 }} {{ 2.0 }} {{ -1.5e300 }}", "1e+06 123456.5 1e-05 2 -1.5e+300"),
    ]);
}

#[test]
fn literals_are_those_of_go() {
    assert_renders(&[
        (r#"{{ "a\tb\n\"\\\x41\101\u00e9\U0001F680" }}"#, "a\tb\n\"\\AAé🚀"),
        ("{{ `raw \\n\n\"x\"` }}", "raw \\n\n\"x\""),
        (r"{{ 'a' }} {{ '\n' }} {{ '\'' }} {{ 'é' }}", "97 10 39 233"),
        (
            "{{ 12 }} {{ -3 }} {{ +4 }} {{ 1_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 017 }}",
            "12 -3 4 1000 31 5 15 15",
        ),
        ("{{ -9223372036854775808 }} {{ 9223372036854775807 }}", "-9223372036854775808 9223372036854775807"),
        ("{{ .5 }} {{ 1. }} {{ 2e3 }} {{ 2E+3 }}", "0.5 1 2000 2000"),
        ("{{ true }} {{ false }} {{ print nil }}|", "true false |"),
    ]);
}

#[test]
fn variables_are_declared_assigned_and_scoped() {
    assert_renders(&[
        ("{{ $x := 1 }}{{ $x }}{{ $x = 2 }}{{ $x }}", "12"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"),
        ("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}", "21"),
        ("{{ $x := 0 }}{{ range .Numbers }}{{ $x = . }}{{ end }}{{ $x }}", "4"),
        ("{{ $x := `o` }}{{ range .List }}{{ $x := . }}{{ $x }}{{ end }}{{ $x }}", "abco"),
        ("{{$x:=1}}{{$x=2}}{{$x}}", "2"),
        ("{{ if $n := .Count }}{{ $n }}{{ end }}", "3"),
        ("{{ $x := .Name | len }}{{ $x }}", "6"),
    ]);
}

#[test]
fn if_follows_the_truth_of_go() {
    for falsy in ["false", "0", "0.0", "\"\"", ".Empty", ".Zero", ".NoList", ".NoMap", ".Nothing", "nil"] {
        assert_eq!(render(&format!("{{{{ if {falsy} }}}}T{{{{ else }}}}F{{{{ end }}}}")), "F", "{falsy}");
    }
    for truthy in ["true", "1", "-1", "0.1", "\"0\"", ".Name", ".List", ".Map", "' '"] {
        assert_eq!(render(&format!("{{{{ if {truthy} }}}}T{{{{ else }}}}F{{{{ end }}}}")), "T", "{truthy}");
    }
}

#[test]
fn else_if_takes_the_first_that_holds() {
    let source = "{{ range .Numbers }}{{ if eq . 1 }}one{{ else if eq . 2 }}two{{ else if $y := eq . 3 }}{{ $y }}{{ else }}many{{ end }} {{ end }}";
    assert_eq!(render(source), "one two true many ");
    assert_eq!(render("{{ if .No }}a{{ else if .No }}b{{ end }}c"), "c");
}

#[test]
fn an_else_if_is_not_evaluated_after_one_that_held() {
    let rendered = try_render("{{ if true }}a{{ else if .Missing }}b{{ end }}").unwrap();
    assert_eq!((rendered.text.as_str(), rendered.warnings.len()), ("a", 0));
}

#[test]
fn with_changes_the_current_value_and_has_else() {
    assert_renders(&[
        ("{{ with .Project }}{{ .Name }}{{ $.Name }}{{ end }}", "demosamuel"),
        ("{{ with .Empty }}x{{ else }}{{ .Name }}{{ end }}", "samuel"),
        ("{{ with .Empty }}x{{ else with .Project }}{{ .Name }}{{ else }}y{{ end }}", "demo"),
        ("{{ with $p := .Project }}{{ $p.Name }}{{ .Name }}{{ end }}", "demodemo"),
        ("{{ with .Project }}{{ with .Name }}{{ . }}{{ end }}{{ .Name }}{{ end }}", "demodemo"),
    ]);
}

#[test]
fn range_goes_through_lists_maps_and_integers() {
    assert_renders(&[
        ("{{ range .List }}{{ . }},{{ end }}", "a,b,c,"),
        ("{{ range $e := .List }}{{ $e }}{{ . }}{{ end }}", "aabbcc"),
        ("{{ range $i, $e := .List }}{{ $i }}{{ $e }}{{ end }}", "0a1b2c"),
        ("{{ range $k, $v := .Map }}{{ $k }}={{ $v }};{{ end }}", "alpha=1;beta=2;zeta=26;"),
        ("{{ range .Map }}{{ . }} {{ end }}", "1 2 26 "),
        ("{{ range 3 }}{{ . }}{{ end }}", "012"),
        ("{{ range -1 }}x{{ else }}none{{ end }}", "none"),
        ("{{ range .NoList }}x{{ else }}none {{ .Name }}{{ end }}", "none samuel"),
        ("{{ range .Nothing }}x{{ else }}none{{ end }}", "none"),
        ("{{ $i := 9 }}{{ $e := 9 }}{{ range $i, $e = .List }}{{ end }}{{ $i }}{{ $e }}", "2c"),
        (
            "{{ range .Tasks }}{{ .ID }}:{{ range .Files }}{{ . }} {{ else }}-{{ end }};{{ end }}",
            "1:x.rs y.rs ;2:-;",
        ),
        (
            "{{ range $t := .Tasks }}{{ range .Files }}{{ $t.ID }}{{ . }}{{ $.Count }} {{ end }}{{ end }}",
            "1x.rs3 1y.rs3 ",
        ),
    ]);
}

#[test]
fn break_and_continue_leave_the_innermost_range() {
    assert_renders(&[
        ("{{ range .Numbers }}{{ if eq . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}|", "12|"),
        ("{{ range .Numbers }}{{ if eq . 2 }}{{ continue }}{{ end }}{{ . }}{{ end }}|", "134|"),
        ("{{ range .Numbers }}{{ with . }}{{ break }}{{ end }}{{ else }}none{{ end }}|", "|"),
        (
            "{{ range 2 }}{{ range .}}{{ end }}{{ range $.List }}{{ if eq . `b` }}{{ break }}{{ end }}{{ . }}{{ end }}{{ . }}{{ end }}",
            "a0a1",
        ),
        ("{{ range 2 }}{{ range $.NoList }}{{ else }}{{ break }}{{ end }}x{{ end }}|", "|"),
        ("{{ range .Tasks }}{{ with .Files }}{{ continue }}{{ end }}{{ .ID }}{{ end }}", "2"),
    ]);
}

#[test]
fn trim_markers_eat_white_space_around_actions() {
    assert_renders(&[
        ("a \n {{- .Count -}} \t\n b", "a3b".trim()),
        ("a {{- 3 }} b", "a3 b"),
        ("a {{ 3 -}} b", "a 3b"),
        ("a {{-3}} b", "a -3 b"),
        ("a  {{- /* c */ -}}  b", "ab"),
        ("x\n{{- range .List }}\n- {{ . }}\n{{- end }}\ny", "x\n- a\n- b\n- c\ny"),
    ]);
}

#[test]
fn comments_render_nothing() {
    assert_renders(&[("a{{/* {{ .Nope }} \n */}}b", "ab"), ("a{{/**/}}b", "ab")]);
}

#[test]
fn pipelines_and_parentheses_nest_calls() {
    assert_renders(&[
        ("{{ .Name | printf \"%s-%s\" \"x\" | len }}", "8"),
        ("{{ (eq .Count 3) }}", "true"),
        ("{{ print (len .List) (.Name | len) }}", "3 6"),
        ("{{ if (and (eq .Count 3) (not .No)) }}y{{ end }}", "y"),
        ("{{ len (index .Tasks 0).Files }}", "2"),
        ("{{\n  .Name\n  | len\n}}", "6"),
    ]);
}

#[test]
fn templates_define_call_and_block() {
    assert_renders(&[
        ("{{ define \"t\" }}<{{ . }}>{{ end }}{{ template \"t\" .Name }}{{ template \"t\" }}", "<samuel><>"),
        (
            "{{ template `late` .Project }}{{ define `late` }}{{ .Name }}{{ $.Root }}{{ end }}",
            "demo/work/demo",
        ),
        ("{{ block \"b\" .Tasks }}{{ len . }}{{ end }}{{ .Count }}", "23"),
        (
            "{{ range .List }}{{ template \"t\" . }}{{ end }}{{ define \"t\" }}{{ $x := . }}{{ $x }}{{ end }}",
            "abc",
        ),
        ("{{ $x := 1 }}{{ template \"t\" . }}{{ $x }}{{ define \"t\" }}{{ $x := 2 }}{{ $x }}{{ end }}", "21"),
        ("{{ range 2 }}{{ block \"in\" . }}{{ range 2 }}{{ . }}{{ end }}{{ end }};{{ end }}", "01;01;"),
    ]);
}

#[test]
fn a_template_may_call_itself_as_long_as_it_stops() {
    let tree = serde_json::json!({"N": "a", "Kids": [{"N": "b", "Kids": [{"N": "c", "Kids": []}]}, {"N": "d", "Kids": []}]});
    let source = "{{ define \"n\" }}{{ $me := .N }}{{ .N }}({{ range .Kids }}{{ template \"n\" . }}{{ end }}){{ $me }}{{ end }}{{ template \"n\" . }}";
    let rendered = Template::parse("t", source).unwrap().render(&tree).unwrap();
    assert_eq!(rendered.text, "a(b(c()c)bd()d)a");
}

#[test]
fn an_undefined_variable_renders_empty_and_warns_with_its_place() {
    let rendered =
        try_render("é {{ .Name }}\n[{{ .Project.Nmae }}]\n{{ range 3 }}{{ .Foo }}{{ end }}").unwrap();
    assert_eq!(rendered.text, "é samuel\n[]\n");
    let warnings: Vec<String> = rendered.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "test.tmpl:2:5: `.Project.Nmae` is not defined; did you mean `Name`?",
            "test.tmpl:3:17: `.Foo` is not defined",
        ]
    );
    assert_eq!((rendered.warnings[0].line, rendered.warnings[0].column), (2, 5));
    assert_eq!(rendered.warnings[0].variable, ".Project.Nmae");
}

#[test]
fn a_path_through_what_is_not_there_warns_once_for_the_whole_path() {
    for (source, variable) in [
        ("{{ .A.B.C }}", ".A.B.C"),
        ("{{ .Nothing.X }}", ".Nothing.X"),
        ("{{ .Name.X }}", ".Name.X"),
        ("{{ $x := .Name }}{{ $x.Y }}", "$x.Y"),
        ("{{ (print 1).Z }}", "(…).Z"),
        ("{{ index .Plugins `nope` }}", "index … \"nope\""),
        ("{{ index .List 9 }}", "index … \"9\""),
        ("{{ if .Oops }}{{ end }}", ".Oops"),
    ] {
        let rendered = try_render(source).unwrap();
        assert_eq!(rendered.text, "", "{source}");
        let variables: Vec<&str> =
            rendered.warnings.iter().map(|warning| warning.variable.as_str()).collect();
        assert_eq!(variables, [variable], "{source}");
    }
}

#[test]
fn a_template_is_shared_between_threads() {
    let template = Template::parse("t", "{{ .Name }}").unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let template = template.clone();
            std::thread::spawn(move || template.render(&context()).unwrap().text)
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), "samuel");
    }
}
