//! Templates that are wrong: message, line, column and help.

use super::{assert_problems, try_render};
use crate::{SyntaxProblem, Template, TemplateError};

#[test]
fn unclosed_things_are_named_where_they_open() {
    assert_problems(&[
        ("{{.", "1:1: this action is not closed"),
        ("a\n  {{ .Name", "2:3: this action is not closed"),
        ("{{ .Name }", "1:10: unexpected character '}'"),
        ("{{ .A {{ .B }}", "1:1: this action is not closed"),
        ("{{/* x", "1:1: this comment is not closed"),
        ("{{/* x */ }}", "1:1: this comment is not closed"),
        ("{{ \"abc }}", "1:4: this literal is not closed"),
        ("{{ \"a\nb\" }}", "1:4: this literal is not closed"),
        ("{{ `abc }}", "1:4: this literal is not closed"),
        ("éé{{ if .Name }}x", "1:3: `if` has no `end`"),
        ("{{ range .List }}", "1:1: `range` has no `end`"),
        ("{{ with . }}{{ else }}", "1:1: `with` has no `end`"),
        ("{{ define \"a\" }}", "1:1: `define` has no `end`"),
        ("{{ print (1 }}", "1:10: unexpected unclosed `(` in a pipeline"),
    ]);
}

#[test]
fn misplaced_words_are_errors() {
    assert_problems(&[
        ("{{ end }}", "1:1: unexpected `end` without an open block"),
        ("x{{ else }}", "1:2: unexpected `else` without an open block"),
        ("{{ if 1 }}{{ else }}{{ else }}{{ end }}", "1:21: unexpected `else` here"),
        ("{{ break }}", "1:1: `break` outside a `range`"),
        ("{{ range .List }}{{ else }}{{ continue }}{{ end }}", "1:28: `continue` outside a `range`"),
        ("{{ range 1 }}{{ block `b` . }}{{ break }}{{ end }}{{ end }}", "1:31: `break` outside a `range`"),
        ("{{ if 1 }}{{ define `x` }}{{ end }}{{ end }}", "1:11: `define` inside another block"),
        ("{{ end x }}", "1:8: unexpected `x` after `end`"),
        ("{{ if 1 }}{{ else with 2 }}{{ end }}", "1:19: unexpected `with` after `else`"),
        ("{{ print if }}", "1:10: unexpected `if` in a pipeline"),
    ]);
}

#[test]
fn wrong_pipelines_are_errors() {
    assert_problems(&[
        ("{{ }}", "1:4: missing value in a pipeline"),
        ("{{ if }}{{ end }}", "1:7: missing value in a pipeline"),
        ("{{ .Name | }}", "1:12: missing value in a pipeline"),
        ("{{ | len }}", "1:4: unexpected `|` in a pipeline"),
        ("{{ () }}", "1:5: missing value in parentheses"),
        ("{{ nil }}", "1:4: unexpected `nil` as an action"),
        ("{{ .Name .Count }}", "1:4: `.Name` is not a function"),
        ("{{ .Name | .Count }}", "1:12: `.Count` is not a function"),
        ("{{ 1 | 2 }}", "1:8: number is not a function"),
        ("{{ \"a\"\"b\" }}", "1:7: unexpected string after a value"),
        ("{{ print(1) }}", "1:9: unexpected `(` after a function"),
        ("{{ .Name) }}", "1:9: unexpected `)` in an action"),
        ("{{ $x, $y := .List }}", "1:8: unexpected `$y` in a binding of one variable"),
        ("{{ range $a, $b, $c := .List }}{{ end }}", "1:16: unexpected `,` in a binding"),
        ("{{ $ := 1 }}", "1:4: unexpected `$` in a binding: it cannot be changed"),
        ("{{ true.A }}", "1:8: unexpected `.A` after a value"),
        ("{{ len }}", "1:4: `len` takes 1 argument, but has 0"),
        ("{{ .List | len 1 }}", "1:12: `len` takes 1 argument, but has 2"),
        ("{{ eq 1 }}", "1:4: `eq` takes at least 2, but has 1"),
        ("{{ slice 1 2 3 4 5 }}", "1:4: `slice` takes 1 to 4 arguments, but has 5"),
        ("{{ commitConvention 1 2 }}", "1:4: `commitConvention` takes at most 1, but has 2"),
    ]);
}

#[test]
fn wrong_characters_and_literals_are_errors() {
    assert_problems(&[
        ("{{ .my-name }}", "1:7: unexpected character '-'"),
        ("{{ .A == .B }}", "1:7: unexpected character '='"),
        ("{{ a && b }}", "1:6: unexpected character '&'"),
        ("{{ 'ab' }}", "1:4: this literal has an unknown escape or a wrong length"),
        ("{{ '' }}", "1:4: this literal has an unknown escape or a wrong length"),
        (r#"{{ "\z" }}"#, "1:4: this literal has an unknown escape or a wrong length"),
        (r#"{{ "\xff" }}"#, "1:4: this literal has an unknown escape or a wrong length"),
        ("{{ 12ab }}", "1:4: `12ab` is not a number"),
        ("{{ 9223372036854775808 }}", "1:4: `9223372036854775808` is not a number"),
        ("{{ 1e999 }}", "1:4: `1e999` is not a number"),
        ("{{ 1__0 }}", "1:4: `1__0` is not a number"),
        ("{{ 0x }}", "1:4: `0x` is not a number"),
        ("{{ 1.2.3 }}", "1:4: `1.2.3` is not a number"),
    ]);
}

#[test]
fn unknown_names_suggest_the_nearest() {
    for (source, message, help) in [
        ("{{ pritn 1 }}", "1:4: there is no function `pritn`", "Did you mean `print`?"),
        (
            "{{ $task := 1 }}{{ $tsk }}",
            "1:20: the variable `$tsk` is not declared here",
            "Did you mean `$task`?",
        ),
        (
            "{{ define `head` }}{{ end }}{{ template `haed` }}",
            "1:41: there is no template \"haed\"",
            "Did you mean `head`?",
        ),
    ] {
        let error = Template::parse("test.tmpl", source).unwrap_err();
        assert_eq!(error.to_string(), format!("test.tmpl:{message}"));
        assert_eq!(error.help(), help);
    }
    assert_problems(&[
        ("{{ Name }}", "1:4: there is no function `Name`"),
        ("{{ if 1 }}{{ $x := 1 }}{{ end }}{{ $x }}", "1:36: the variable `$x` is not declared here"),
        ("{{ $x = 1 }}", "1:4: the variable `$x` is not declared here"),
        ("{{ define `a` }}{{ $x }}{{ end }}{{ $x := 1 }}", "1:20: the variable `$x` is not declared here"),
        ("{{ define `a` }}{{ end }}{{ define `a` }}{{ end }}", "1:36: the template \"a\" is defined twice"),
    ]);
}

#[test]
fn the_help_of_a_hyphen_points_at_index() {
    let error = Template::parse("t", "{{ .Plugins.my-lint }}").unwrap_err();
    assert!(error.help().contains("index"), "{}", error.help());
    let location = error.location().unwrap();
    assert_eq!((location.template.as_str(), location.line, location.column), ("t", 1, 15));
    assert!(matches!(
        error,
        TemplateError::Syntax { problem: SyntaxProblem::UnexpectedCharacter { found: '-' }, .. }
    ));
}

#[test]
fn problems_while_rendering_name_their_line_even_inside_templates() {
    assert_problems(&[
        (
            "{{ define `t` }}\n  {{ len . }}{{ end }}\n{{ range 2 }}{{ template `t` 1 }}{{ end }}",
            "2:6: `len` needs a string, a list or a map, not an integer",
        ),
        ("a\n{{ range .Name }}{{ end }}", "2:1: `range` needs a list, a map or an integer, not a string"),
    ]);
}

#[test]
fn a_context_that_cannot_be_serialised_is_an_error() {
    struct Broken;
    impl serde::Serialize for Broken {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("broken"))
        }
    }
    let template = Template::parse("t", "{{ .Name }}").unwrap();
    assert!(matches!(template.render(&Broken), Err(TemplateError::Context { .. })));
    let nested = std::collections::BTreeMap::from([("Name", Broken)]);
    assert!(matches!(template.render(&nested), Err(TemplateError::Context { .. })));
    assert!(try_render("{{ .Name }}").is_ok());
}
