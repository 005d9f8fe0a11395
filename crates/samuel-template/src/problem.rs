//! The problems a template can have, each with a message and a help text.
//!
//! [`SyntaxProblem`]s are found by [`Template::parse`](crate::Template::parse),
//! [`EvaluationProblem`]s by [`Template::render`](crate::Template::render). A
//! [`Fault`] or a [`Failure`] is one on its way, before its place has a line.

use crate::TemplateLimits;

/// What is wrong with a template's source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxProblem {
    /// An action without its closing braces.
    #[error("this action is not closed")]
    UnclosedAction,
    /// A comment that is not closed, or not by `*/}}`.
    #[error("this comment is not closed")]
    UnclosedComment,
    /// A string or character literal without its closing quote.
    #[error("this literal is not closed")]
    UnclosedLiteral,
    /// An escape or a character literal that means nothing.
    #[error("this literal has an unknown escape or a wrong length")]
    BadLiteral,
    /// A number that is none, or does not fit.
    #[error("`{text}` is not a number")]
    BadNumber {
        /// As written.
        text: String,
    },
    /// A character that has no place in an action.
    #[error("unexpected character {found:?}")]
    UnexpectedCharacter {
        /// The character.
        found: char,
    },
    /// A token in the wrong place.
    #[error("unexpected {found} {place}")]
    Unexpected {
        /// The token.
        found: String,
        /// Where, as a phrase: `in a pipeline`.
        place: &'static str,
    },
    /// Nothing where a value is needed.
    #[error("missing value {place}")]
    MissingValue {
        /// Where, as a phrase: `in a pipeline`.
        place: &'static str,
    },
    /// A block without its `{{ end }}`.
    #[error("`{keyword}` has no `end`")]
    UnclosedBlock {
        /// The word that opened the block.
        keyword: &'static str,
    },
    /// A function that does not exist.
    #[error("there is no function `{name}`")]
    UnknownFunction {
        /// As written.
        name: String,
        /// The nearest function there is.
        nearest: Option<String>,
    },
    /// A variable that was not declared.
    #[error("the variable `${name}` is not declared here")]
    UndeclaredVariable {
        /// As written, without the sign.
        name: String,
        /// The nearest variable in scope, without the sign.
        nearest: Option<String>,
    },
    /// A `template` that is not defined.
    #[error("there is no template \"{name}\"")]
    UnknownTemplate {
        /// As written.
        name: String,
        /// The nearest template there is.
        nearest: Option<String>,
    },
    /// A second `define` or `block` of one name.
    #[error("the template \"{name}\" is defined twice")]
    DuplicateTemplate {
        /// As written.
        name: String,
    },
    /// A call with too few or too many arguments.
    #[error("`{function}` takes {expected}, but has {found}")]
    WrongArgumentCount {
        /// The function.
        function: &'static str,
        /// What it takes, as a phrase: `2 arguments`.
        expected: String,
        /// How many it has.
        found: usize,
    },
    /// Arguments after, or a pipe into, something that is no function.
    #[error("{found} is not a function")]
    NotAFunction {
        /// What stands there.
        found: String,
    },
    /// `break` or `continue` outside a `range`.
    #[error("`{keyword}` outside a `range`")]
    OutsideRange {
        /// The word.
        keyword: &'static str,
    },
    /// A `define` inside another block.
    #[error("`define` inside another block")]
    NestedDefine,
    /// Blocks, parentheses and pipeline stages nested too deep.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit it passed.
        limit: usize,
    },
}

impl SyntaxProblem {
    pub(crate) fn help(&self) -> String {
        use SyntaxProblem as P;
        let text = match self {
            P::UnclosedAction => "Close the action with `}}`; for literal braces write {{\"{{\"}}.",
            P::UnclosedComment => {
                "A comment is an action of its own: {{/* text */}}, with the braces next to it."
            }
            P::UnclosedLiteral => {
                "Close the literal on its own line; text over several lines goes in backquotes."
            }
            P::BadLiteral => {
                "Escapes are those of Go: \\n, \\t, \\\\, \\\", \\x41, \\u00e9; a character literal holds one."
            }
            P::BadNumber { .. } => {
                "Numbers are written 12, -3, 1_000, 0x1F, 0b101, 0o17, 1.5 or 2e3, and fit in 64 bits."
            }
            P::UnexpectedCharacter { found: '-' } => {
                "A path cannot spell a name with a hyphen: write index .Map \"the-name\"."
            }
            P::UnexpectedCharacter { found: '=' } => "Compare with eq: {{ if eq .A .B }}.",
            P::UnexpectedCharacter { found: '&' } => "Combine with and: {{ if and .A .B }}.",
            P::UnexpectedCharacter { found: '!' } => "Negate with not or ne: {{ if not .A }}.",
            P::UnexpectedCharacter { .. } => {
                "Put a space between values; names a path cannot spell go through index."
            }
            P::Unexpected { .. } => {
                "Check the action's spelling, its parentheses, and the `end` of the block before it."
            }
            P::MissingValue { .. } => "Put a value there, such as .Project.Name or \"text\".",
            P::UnclosedBlock { .. } => "Add {{ end }} where the block should stop.",
            P::UnknownFunction { nearest, .. } => {
                return did_you_mean(nearest, "", "A value of the context starts with a dot: .Name.");
            }
            P::UndeclaredVariable { nearest, .. } => {
                return did_you_mean(
                    nearest,
                    "$",
                    "Declare it first, in this block or around it: {{ $x := .Name }}.",
                );
            }
            P::UnknownTemplate { nearest, .. } => {
                return did_you_mean(nearest, "", "Define it in the same file: {{ define \"name\" }}.");
            }
            P::DuplicateTemplate { .. } => "Give one of them another name.",
            P::WrongArgumentCount { .. } => {
                "A value piped in counts as the last argument; group with parentheses."
            }
            P::NotAFunction { .. } => {
                "Only functions take arguments or piped values; separate actions stand in their own braces."
            }
            P::OutsideRange { .. } => "Move it between {{ range }} and its {{ end }}.",
            P::NestedDefine => "Move it to the top level, or use {{ block }}.",
            P::TooDeep { .. } => "Keep results in variables, or move inner blocks into {{ define }}.",
        };
        text.to_owned()
    }
}

/// What a function or statement met while rendering.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationProblem {
    /// A value of a kind the function does not take.
    #[error("`{function}` needs {expected}, not {found}")]
    WrongKind {
        /// The function or statement.
        function: &'static str,
        /// What it takes, as a phrase: `a list`.
        expected: &'static str,
        /// What it met, as a phrase.
        found: &'static str,
    },
    /// Two values that cannot be compared with each other.
    #[error("`{function}` cannot compare {left} with {right}")]
    Incomparable {
        /// The function.
        function: &'static str,
        /// The first value's kind, as a phrase.
        left: &'static str,
        /// The second value's kind, as a phrase.
        right: &'static str,
    },
    /// Bounds outside the value.
    #[error("`{function}` has the bound {bound}, but the value has {length} elements")]
    OutOfRange {
        /// The function.
        function: &'static str,
        /// The bound.
        bound: i64,
        /// The length of the value.
        length: usize,
    },
    /// A string cut inside a character.
    #[error("`slice` cuts inside a character at byte {bound}")]
    InsideCharacter {
        /// The bound.
        bound: i64,
    },
    /// A `printf` verb that is unknown, too wide, or does not fit its argument.
    #[error("the format `{verb}` {reason}")]
    BadFormat {
        /// As written.
        verb: String,
        /// Why, as a phrase.
        reason: &'static str,
    },
    /// `template` calls nested too deep.
    #[error("templates call each other too deep: at most {limit} levels")]
    TooManyCalls {
        /// The limit it passed.
        limit: usize,
    },
}

impl EvaluationProblem {
    pub(crate) fn help(&self) -> String {
        let text = match self {
            EvaluationProblem::WrongKind { .. } => "Test the value with if or with first, or pass another.",
            EvaluationProblem::Incomparable { .. } => {
                "Compare values of one kind; printf \"%d\" turns a number into text."
            }
            EvaluationProblem::OutOfRange { .. } => "Test the length with len first.",
            EvaluationProblem::InsideCharacter { .. } => "Bounds of strings count bytes.",
            EvaluationProblem::BadFormat { .. } => {
                "Use %v for any value, %s and %q for text, %d for integers, %.2f for numbers."
            }
            EvaluationProblem::TooManyCalls { .. } => {
                return format!(
                    "A template that calls itself must stop within {} calls.",
                    TemplateLimits::TEMPLATE_CALLS
                );
            }
        };
        text.to_owned()
    }
}

fn did_you_mean(nearest: &Option<String>, sign: &str, otherwise: &str) -> String {
    match nearest {
        Some(name) => format!("Did you mean `{sign}{name}`?"),
        None => otherwise.to_owned(),
    }
}

/// Why a statement or a function stopped, before it has a place.
#[derive(Debug)]
pub(crate) enum Failure {
    Problem(EvaluationProblem),
    OutOfFuel,
    TooMuchWork,
    OutputTooLarge,
}

impl From<EvaluationProblem> for Failure {
    fn from(problem: EvaluationProblem) -> Failure {
        Failure::Problem(problem)
    }
}

/// A problem at a byte offset, before the offset is turned into a location.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) problem: SyntaxProblem,
}

impl Fault {
    pub(crate) fn at(offset: usize, problem: SyntaxProblem) -> Fault {
        Fault { offset, problem }
    }
}

/// Finds the candidate a misspelt `name` most likely stands for.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Names in templates are short; a long one is not worth the quadratic cost.
    if name.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 64)
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= (name.len() / 3).max(1))
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}
