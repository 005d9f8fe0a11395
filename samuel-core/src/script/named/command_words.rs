//! What the words of a command are: the program, options and their values, code.

/// Programs that run the script they are given, without the version in their names.
pub(crate) const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "ash",
    "fish",
    "python",
    "pypy",
    "node",
    "nodejs",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "ruby",
    "perl",
    "php",
    "lua",
    "luajit",
    "pwsh",
    "tclsh",
    "Rscript",
    "julia",
    "elixir",
    "java",
    "mksh",
    "osascript",
];

/// Those of them that take `-c` with a command line.
pub(crate) const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "mksh"];

/// Options of interpreters whose value is the next word, which may be run as well.
pub(crate) const VALUED: &[&str] = &[
    "-o",
    "+o",
    "-O",
    "+O",
    "--rcfile",
    "--init-file",
    "-r",
    "--require",
    "--import",
    "--loader",
    "-W",
    "-X",
    "-I",
    "-M",
    "-jar",
];

/// Programs whose first operand is code.
pub(crate) const FIRST_CODE: &[&str] = &["awk", "gawk", "mawk", "nawk", "sed", "gsed"];

/// Programs whose `-f` names what they execute.
pub(super) const BY_OPTION: &[&str] =
    &["make", "gmake", "awk", "gawk", "mawk", "nawk", "sed", "gsed", "just"];

/// Words that stand before the program that they start: each with the letters of its
/// options that take a value, and the number of its own operands.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("env", "uC", 0),
    ("timeout", "sk", 1),
    ("nice", "n", 0),
    ("nohup", "", 0),
    ("time", "fo", 0),
    ("exec", "a", 0),
    ("command", "", 0),
    ("builtin", "", 0),
    ("setsid", "", 0),
    ("stdbuf", "ioe", 0),
    ("ionice", "cnp", 0),
    ("sudo", "ugCDhpRT", 0),
    ("doas", "uC", 0),
    ("xargs", "nIPLsdEa", 0),
    ("unbuffer", "", 0),
    ("flock", "wE", 1),
    ("chroot", "", 1),
    ("busybox", "", 0),
    ("coproc", "", 0),
    ("if", "", 0),
    ("then", "", 0),
    ("elif", "", 0),
    ("else", "", 0),
    ("while", "", 0),
    ("until", "", 0),
    ("do", "", 0),
    ("!", "", 0),
    ("{", "", 0),
];

/// Their long options whose value is the next word.
const VALUED_BY_WRAPPERS: &[&str] = &[
    "--user",
    "--group",
    "--host",
    "--prompt",
    "--chdir",
    "--chroot",
    "--unset",
    "--signal",
    "--kill-after",
    "--adjustment",
    "--class",
    "--classdata",
    "--timeout",
    "--conflict-exit-code",
    "--max-args",
    "--max-chars",
    "--max-procs",
    "--delimiter",
    "--arg-file",
];

/// Programs that start another one, each with the words that tell it to.
const RUNNERS: &[(&str, &[&str])] = &[
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("pdm", &["run"]),
    ("hatch", &["run"]),
    ("rye", &["run"]),
    ("bundle", &["exec"]),
    ("npm", &["exec"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("uvx", &[]),
    ("npx", &[]),
    ("bunx", &[]),
];

/// Their options whose value is the next word.
const VALUED_BY_RUNNERS: &[&str] = &[
    "-p",
    "--package",
    "--python",
    "--with",
    "--with-editable",
    "--with-requirements",
    "--from",
    "--extra",
    "--group",
    "--env-file",
    "--directory",
    "--project",
];

/// Returns how many words say that another program is started, where the first does.
fn of_runner(words: &[String]) -> Option<usize> {
    let name = words.first().map_or("", |word| base_name(word));
    match RUNNERS.iter().find(|known| known.0 == name)? {
        (_, []) => Some(1),
        (_, by) => words.get(1).is_some_and(|next| by.contains(&next.as_str())).then_some(2),
    }
}

/// Returns where the program stands that a command starts in the end, as b in `uv run b`.
pub(crate) fn last_program_of(words: &[String]) -> usize {
    let mut at = program_of(words);
    while let Some(count) = words.get(at..).and_then(of_runner) {
        at += count;
        while let Some(option) = words.get(at).filter(|word| word.starts_with('-')) {
            at += 1 + usize::from(VALUED_BY_RUNNERS.contains(&option.as_str()));
        }
        at += words.get(at..).map_or(0, program_of);
    }
    at
}

/// Returns where the program of a command stands: after assignments and what starts it.
pub(crate) fn program_of(words: &[String]) -> usize {
    let mut at = 0;
    // The options of what was found last, and how many operands it still has.
    let (mut valued, mut operands) = ("", 0);
    while let Some(word) = words.get(at) {
        if let Some((_, of_wrapper, of_operands)) = WRAPPERS.iter().find(|known| known.0 == base_name(word)) {
            (valued, operands) = (*of_wrapper, *of_operands);
        } else if at > 0 && word.starts_with('-') {
            // The first letter that takes a value has what follows it, or else the next word.
            let letters = word.strip_prefix('-').unwrap_or_default();
            let takes_next = letters.find(|letter| valued.contains(letter)) == letters.len().checked_sub(1);
            let is_long = VALUED_BY_WRAPPERS.contains(&word.as_str());
            at += usize::from(is_long || (takes_next && !letters.is_empty() && !letters.starts_with('-')));
        } else if operands > 0 {
            operands -= 1;
        } else if assignment(word).is_none() {
            return at;
        }
        at += 1;
    }
    at
}

/// Returns the name and the value where a word is an assignment.
pub(super) fn assignment(word: &str) -> Option<(&str, &str)> {
    let is_of_name = |char: char| char == '_' || char.is_ascii_alphanumeric();
    word.split_once('=').filter(|(name, _)| !name.is_empty() && name.chars().all(is_of_name))
}

/// Says whether an interpreter is given its code, or a module of its own, by an option.
pub(super) fn has_code(interpreter: &str, word: &str) -> bool {
    matches!(word, "--eval" | "--print" | "--version" | "--help" | "-V")
        || is_option_with(word, code_letters(interpreter))
}

/// Returns the letters of an interpreter's options that give it code.
pub(crate) fn code_letters(interpreter: &str) -> &'static str {
    match interpreter {
        "python" | "pypy" => "cm",
        "node" | "nodejs" | "bun" => "ep",
        "ruby" | "perl" | "lua" | "luajit" | "Rscript" | "julia" | "elixir" => "eE",
        "php" => "r",
        "osascript" => "e",
        _ => "",
    }
}

/// Returns the path of the module, without its ending, that `-m` or `-mNAME` names for Python.
pub(super) fn module_of(interpreter: &str, word: &str, next: Option<&String>) -> Option<String> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let (before, name) = letters.split_once('m')?;
    // What follows these is their value.
    let has_module = matches!(interpreter, "python" | "pypy" | "uv") && !before.contains(['c', 'W', 'X']);
    let name = if name.is_empty() { next? } else { name };
    has_module.then(|| name.replace('.', "/"))
}

/// Says whether a word holds one of these one-letter options.
pub(super) fn is_option_with(word: &str, letters: &str) -> bool {
    let Some(bundle) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else { return false };
    // What follows these is their value.
    let bundle = bundle.split(['W', 'X', 'I', 'M']).next().unwrap_or_default();
    bundle.contains(|letter| letters.contains(letter))
}

/// Returns the values of `-f`.
pub(super) fn of_option(words: &[String]) -> Vec<String> {
    let value = |(at, word): (usize, &String)| match word.as_str() {
        "-f" | "--file" | "--makefile" | "--justfile" => words.get(at + 1).cloned(),
        word => {
            let long = || word.strip_prefix("--")?.split_once('=').map(|(_, value)| value);
            word.strip_prefix("-f").or_else(long).map(str::to_owned)
        }
    };
    words.iter().enumerate().filter_map(value).collect()
}

/// Returns the values of options whose names say that they are settings.
pub(super) fn settings(words: &[String]) -> Vec<String> {
    let value = |(at, word): (usize, &String)| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), words.get(at + 1).cloned()),
        };
        let says_so = name.starts_with('-') && (name.contains("settings") || name.contains("config"));
        value.filter(|_| says_so)
    };
    words.iter().enumerate().filter_map(value).collect()
}

/// Returns the last part of a program's path, without a version: `python3.12` is python.
pub(crate) fn base_name(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    match name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.') {
        "" => name,
        name => name,
    }
}

/// Says whether a word may be the script of an interpreter. Shells take no other operand;
/// of what others are given, only a path or a name with an ending tells a script from a
/// command of their own, as in `deno test` and `java com.example.Main`.
pub(super) fn may_be_script(interpreter: &str, word: &str) -> bool {
    SHELLS.contains(&interpreter) || (interpreter != "java" && word.contains(['/', '.']))
}

/// Returns the directory that an option says the command works in: `-C ci`, `-sC ci`, `-Cci`,
/// `--directory=ci`.
pub(super) fn directory_of<'a>(word: &'a str, next: Option<&'a String>) -> Option<&'a str> {
    if let Some((name, value)) = word.split_once('=') {
        return matches!(name, "--chdir" | "--directory").then_some(value);
    }
    if matches!(word, "--chdir" | "--directory") {
        return next.map(String::as_str);
    }
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    match letters.split_once('C')? {
        (_, "") => next.map(String::as_str),
        (_, directory) => Some(directory),
    }
}
