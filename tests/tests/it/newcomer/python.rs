//! Python: a loop without a project, an event loop, a service, a notebook, and tests under strict types.

use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    fs,
    path::PathBuf,
    process::Command,
    sync::LazyLock,
};

use samuel_tests::cache;
use serde_json::Value;

use crate::newcomer::{
    page::block,
    scratch::{Scratch, copy, printed, root, target},
};

const PAGE: &str = "docs/python.md";
/// What the stories use beside the package.
const PACKAGES: [&str; 7] =
    ["fastapi<1", "httpx<1", "nbclient<1", "ipykernel<8", "pytest>=8", "mypy>=1.15", "pyright>=1.1.390"];

/// An interpreter with what the stories use, made once, or why there is none.
static PYTHON: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let made = cache::once("newcomer-python@1", |home| {
        cache::run(Command::new("python3").args(["-m", "venv"]).arg(home), "python3 -m venv")?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        cache::run(Command::new(home.join("bin/python")).args(pip).args(PACKAGES), "pip install")
    });
    Ok(made?.join("bin/python"))
});

/// A scratch directory with the package in it, and the interpreter.
struct Story {
    scratch: Scratch,
    python: PathBuf,
}

impl Story {
    /// Begins a story, or says why it is skipped.
    fn begin() -> Option<Self> {
        let module = target().join("debug").join(format!("{DLL_PREFIX}_samuel{DLL_SUFFIX}"));
        let found = if module.exists() { PYTHON.clone() } else { Err("the package is not built".to_owned()) };
        let python = found.map_err(|reason| println!("skipped: Python: {reason}")).ok()?;
        let scratch = Scratch::new();
        let package = scratch.path().join("site/samuel");
        copy(&root().join("bindings/python/python/samuel"), &package);
        fs::copy(module, package.join("_samuel.abi3.so")).unwrap();
        Some(Self { scratch, python })
    }

    /// Prepares a call of the interpreter here, with state of its own.
    fn python(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.current_dir(self.scratch.path()).env_remove("XDG_STATE_HOME");
        command.env("PYTHONPATH", self.scratch.path().join("site"));
        command.env("SAMUEL_STATE_DIR", self.scratch.path().join("state"));
        command
    }

    /// Runs a program that the page has, and returns what it printed.
    fn run(&self, text: &str) -> String {
        printed(self.python().arg(self.scratch.write("program.py", text)))
    }
}

#[test]
fn a_loop_works_without_a_project() {
    let Some(story) = Story::begin() else { return };
    assert_eq!(story.run(&block(PAGE, "### Without a project", "python")), "completed hello\n\n");
}

#[test]
fn a_loop_is_awaited() {
    let Some(story) = Story::begin() else { return };
    let told = story.run(&block(PAGE, "### On an event loop", "python"));
    assert!(told.starts_with("RunStarted\n") && told.ends_with("RunFinished\ncompleted\n"), "{told}");
}

/// Asks the service of the page twice at once.
const ASKS: &str = r#"
import concurrent.futures
from fastapi.testclient import TestClient
from program import app

with TestClient(app) as client, concurrent.futures.ThreadPoolExecutor() as pool:
    answers = list(pool.map(lambda title: client.post("/runs", params={"title": title}).json(), ["One", "Two"]))
    print([(answer["exit_reason"], answer["completed"]) for answer in answers])
    schema = client.get("/openapi.json").json()["paths"]["/runs"]["post"]["responses"]["200"]
    print(bool(schema["content"]["application/json"]["schema"]))
"#;

#[test]
fn a_service_answers_with_results() {
    let Some(story) = Story::begin() else { return };
    story.scratch.write("program.py", &block(PAGE, "### In a service", "python"));
    let asks = story.scratch.write("asks.py", ASKS);
    let told = printed(story.python().arg(asks));
    assert_eq!(told, "[('completed', ['1']), ('completed', ['1'])]\nTrue\n");
}

/// Runs the cell of the page twice, as somebody does who works on it.
const NOTEBOOK: &str = r#"
import sys, nbformat
from nbclient import NotebookClient

cell = open(sys.argv[1]).read()
again = "\n".join(["loop.project.reset('1')", *cell.split("\n")[5:]])
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell), nbformat.v4.new_code_cell(again)])
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
for cell in notebook.cells:
    print("".join(output.text for output in cell.outputs if output.get("name") == "stdout"), end="")
"#;

#[test]
fn a_notebook_runs_its_cells_again() {
    let Some(story) = Story::begin() else { return };
    let cell = story.scratch.write("cell.py", &block(PAGE, "### In a notebook", "python"));
    let program = story.scratch.write("notebook.py", NOTEBOOK);
    let told = printed(story.python().arg(program).arg(cell));
    assert_eq!(told, "checked 1\ncompleted ['check']\n".repeat(2));
}

// Takes about 27 s: pytest, mypy and pyright are started, and both type checkers read fastapi without a cache.
#[test]
fn tests_of_a_handler_pass_and_hold_under_strict_types() {
    let Some(story) = Story::begin() else { return };
    let tests = story.scratch.write("test_lint.py", &block(PAGE, "## Tests", "python"));
    let programs = [
        tests.clone(),
        story.scratch.write("without.py", &block(PAGE, "### Without a project", "python")),
        story.scratch.write("awaited.py", &block(PAGE, "### On an event loop", "python")),
        story.scratch.write("service.py", &block(PAGE, "### In a service", "python")),
    ];
    let told = printed(story.python().args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(&tests));
    assert!(told.contains("1 passed"), "{told}");
    let site = story.scratch.path().join("site");
    let mypy = ["-m", "mypy", "--strict", "--python-version", "3.11"];
    printed(story.python().args(mypy).args(&programs).env("MYPYPATH", &site));
    story.scratch.write(
        "pyrightconfig.json",
        r#"{"typeCheckingMode": "strict", "extraPaths": ["site"], "include": ["*.py"], "exclude": ["site"], "pythonVersion": "3.11"}"#,
    );
    printed(story.python().args(["-m", "pyright"]).args(["--pythonpath"]).arg(&story.python));
}

/// Names that there are not, in each line from the third on.
const MISTAKES: &str = r#"import samuel
from samuel import settings, toon
from samuel import Loops
samuel.NoSuchName
samuel.testing.scripted
settings.Setting()
toon.dump_all([])
samuel.Loop(tasks=["Greet"], max_iteration=3)
samuel.Loop(tasks=["Greet"]).strat()
samuel.HookPoint.BEFORE_NOTHING
samuel.QualityCheckOutput(okay=True)
samuel.QualityCheckOutput().okay
"#;

#[test]
fn names_that_do_not_exist_are_errors_for_both_type_checkers() {
    let Some(story) = Story::begin() else { return };
    let mistakes = story.scratch.write("mistakes.py", MISTAKES);
    let lines: Vec<u64> = (3..=MISTAKES.lines().count() as u64).collect();
    let site = story.scratch.path().join("site");

    let mut mypy = story.python();
    mypy.args(["-m", "mypy", "--strict", "--python-version", "3.11"]).arg(&mistakes).env("MYPYPATH", &site);
    let told = String::from_utf8(mypy.output().unwrap().stdout).unwrap();
    let errors = told.lines().filter(|line| line.contains(": error: "));
    let mut found: Vec<u64> = errors.map(|line| line.split(':').nth(1).unwrap().parse().unwrap()).collect();
    found.dedup();
    assert_eq!(found, lines, "{told}");

    story.scratch.write("pyrightconfig.json", r#"{"extraPaths": ["site"], "include": ["mistakes.py"]}"#);
    let mut pyright = story.python();
    pyright.args(["-m", "pyright", "--outputjson", "--pythonpath"]).arg(&story.python);
    let told: Value = serde_json::from_slice(&pyright.output().unwrap().stdout).unwrap();
    let diagnostics = told["generalDiagnostics"].as_array().unwrap();
    let errors = diagnostics.iter().filter(|one| one["severity"] == "error");
    let mut found: Vec<u64> = errors.map(|one| one["range"]["start"]["line"].as_u64().unwrap() + 1).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, lines, "{told:#}");
}
