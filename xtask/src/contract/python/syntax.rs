//! What a source of Rust says of its types: documentation, what serde is told, words.

use syn::{
    Attribute, Expr, Ident, Lit, LitStr, Meta, Token, Type,
    parse::{Parse, ParseStream},
};

use crate::contract::text::snake;

/// The last segment of a path.
pub(super) fn last(ty: &Type) -> Option<&syn::PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// The types between angle brackets.
pub(super) fn inner(segment: &syn::PathSegment) -> Vec<&Type> {
    match &segment.arguments {
        syn::PathArguments::AngleBracketed(arguments) => arguments
            .args
            .iter()
            .filter_map(|argument| match argument {
                syn::GenericArgument::Type(ty) => Some(ty),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// What serde is told of a type or a field.
#[derive(Default)]
pub(super) struct Serde {
    pub(super) rename_all: String,
    pub(super) rename: Option<String>,
    pub(super) has_default: bool,
    pub(super) may_be_skipped: bool,
    pub(super) is_skipped: bool,
    pub(super) is_json: bool,
    pub(super) is_flat: bool,
}

impl Serde {
    pub(super) fn of(attrs: &[Attribute]) -> Self {
        let mut found = Self::default();
        for attribute in attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            // What it does not know it passes over.
            let _ = attribute.parse_nested_meta(|meta| {
                let value = match meta.input.peek(Token![=]) {
                    true => meta.value()?.parse::<LitStr>()?.value(),
                    false => String::new(),
                };
                match meta.path.get_ident().map(Ident::to_string).as_deref() {
                    Some("rename_all") => found.rename_all = value,
                    Some("rename") => found.rename = Some(value),
                    Some("default") => found.has_default = true,
                    Some("skip_serializing_if") => found.may_be_skipped = true,
                    Some("skip") => found.is_skipped = true,
                    Some("flatten") => found.is_flat = true,
                    Some("with") => found.is_json = value.contains("json_text"),
                    _ => {}
                }
                Ok(())
            });
        }
        found
    }
}

/// Says whether a case is the default.
pub(super) fn is_default(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attribute| attribute.path().is_ident("default"))
}

/// Returns documentation; links become what they are written as.
pub(super) fn docs(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let text: Vec<String> = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned()).collect();
    without_links(text.join("\n").trim())
}

/// Turns a link such as ``[`Run`](crate::engine::Run)`` into `` `Run` ``.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((name, behind)) = after.split_once(']') else { break };
        out.push_str(before);
        out.push_str(&format!("`{}`", name.trim_matches('`')));
        rest = match behind.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, behind)) => behind,
            None => behind,
        };
    }
    out + rest
}

/// Returns a name as serde writes it where names are renamed.
pub(super) fn renamed(name: &str, case: &str) -> String {
    match case {
        "snake_case" => snake(name),
        "lowercase" => name.to_lowercase(),
        "kebab-case" => snake(name).replace('_', "-"),
        _ => name.to_owned(),
    }
}

/// A call of the macro `words!`.
pub(super) struct WordsMacro {
    pub(super) attrs: Vec<Attribute>,
    pub(super) name: Ident,
    pub(super) cases: Vec<WordCase>,
}

/// One word of it.
pub(super) struct WordCase {
    pub(super) attrs: Vec<Attribute>,
    pub(super) word: String,
}

impl Parse for WordsMacro {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let name = input.parse()?;
        let what;
        syn::parenthesized!(what in input);
        what.parse::<LitStr>()?;
        let body;
        syn::braced!(body in input);
        let mut cases = Vec::new();
        while !body.is_empty() {
            let attrs = body.call(Attribute::parse_outer)?;
            body.parse::<Ident>()?;
            body.parse::<Token![=]>()?;
            cases.push(WordCase { attrs, word: body.parse::<LitStr>()?.value() });
            body.parse::<Option<Token![,]>>()?;
        }
        Ok(Self { attrs, name, cases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_what_they_are_written_as() {
        assert_eq!(without_links("the [`Run`](crate::Run), or [`End`]"), "the `Run`, or `End`");
    }

    #[test]
    fn cases_are_renamed_as_serde_does() {
        assert_eq!(renamed("InProgress", "snake_case"), "in_progress");
        assert_eq!(renamed("NotStarted", "kebab-case"), "not-started");
    }
}
