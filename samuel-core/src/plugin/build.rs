//! `samuel plugin build`: the component or the image of a plugin, by the tools of its
//! language.
//!
//! Which tool says the source: Cargo.toml, app.py or app.js; an image is built of its Containerfile. The commands are
//! those that the README of a new plugin names.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{MAX_BYTES, Manifest, PluginError, PluginKind, check};
use crate::{
    clock::whole_ms,
    fs::{Manner, Root},
    process::{self, CommandSpec, End, OutputLimits, ProcessError, Supervisor, find_program},
    sandbox::EngineKind,
};

/// How much of what a tool says is kept, in bytes.
const MAX_OUTPUT: usize = 16 << 10;

/// The most bytes of a Cargo.toml.
const MAX_MANIFEST: u64 = 1 << 20;

/// The directory below a plugin in Rust that cargo builds in.
const CARGO_TARGET: &str = "target";

/// How a plugin is built.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The environment of the tools.
    pub env: Vec<(String, String)>,
    /// Who watches over them.
    pub supervisor: Supervisor,
    /// How long they may take.
    pub timeout: Duration,
    /// Ends them earlier.
    pub cancel: CancellationToken,
}

/// What was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BuildReport {
    /// The command; nothing where there was nothing to build.
    pub command: Option<String>,
    /// What was made: the component's path, or the image's name.
    pub made: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// The variable that names the engine which builds images.
const RUNTIME: &str = "SAMUEL_RUNTIME";

/// A tool and how it is called.
struct Tool {
    program: String,
    args: Vec<String>,
    /// How it is installed where it is not there.
    advice: &'static str,
}

/// Builds the plugin in a directory, and checks it.
///
/// # Errors
/// Returns [`PluginError::Request`] where it is not clear how to build it or
/// the tool is not installed, [`PluginError::Build`] where the tool fails, and
/// what [`check`] returns for what was made.
pub async fn build(directory: &Path, options: &BuildOptions) -> Result<BuildReport, PluginError> {
    let manifest = Manifest::load(directory)?;
    let (first, tool) = match manifest.kind {
        PluginKind::Wasm => (None, component_tool(directory, &manifest, options)?),
        PluginKind::Oci => (program_tool(directory), image_tool(&manifest, options)?),
        PluginKind::Skill | PluginKind::Methodology => {
            check(directory)?;
            return Ok(BuildReport { command: None, made: None, took_ms: 0 });
        }
    };
    let started = std::time::Instant::now();
    if let Some(first) = first {
        run(directory, &first, options).await?;
    }
    let command = run(directory, &tool, options).await?;
    if tool.program == "cargo" {
        take_out(directory, manifest.module.as_deref().unwrap_or_default())?;
    }
    check(directory)?;
    let took_ms = whole_ms(started.elapsed());
    Ok(BuildReport { command: Some(command), made: manifest.module.or(manifest.image), took_ms })
}

/// Runs a tool to its end, and returns its command line.
async fn run(directory: &Path, tool: &Tool, options: &BuildOptions) -> Result<String, PluginError> {
    let command = std::iter::once(&tool.program).chain(&tool.args).cloned().collect::<Vec<_>>().join(" ");
    let spec = CommandSpec::new(&tool.program, directory)
        .args(tool.args.clone())
        .envs(options.env.iter().cloned())
        .timeout(options.timeout)
        .merge_stderr(true)
        .limits(OutputLimits { head: 0, tail: MAX_OUTPUT, ..OutputLimits::default() });
    let output = match process::run(spec, &options.supervisor, &options.cancel).await {
        Err(ProcessError::ProgramNotFound { .. }) => {
            return Err(PluginError::Request {
                problem: format!("{} is not installed: {}", tool.program, tool.advice),
            });
        }
        ran => ran.map_err(|source| PluginError::Program {
            program: tool.program.clone(),
            source: source.into(),
        })?,
    };
    if !output.success() {
        let how = match output.end {
            End::TimedOut => "it did not end in time".to_owned(),
            _ => output.status.to_string(),
        };
        return Err(PluginError::Build {
            command,
            message: format!("{how}\n{}", output.stdout.text().trim_end()),
        });
    }
    Ok(command)
}

/// Puts the component that cargo built where the manifest has it. A manifest that names a place
/// below `target` means cargo's own.
fn take_out(directory: &Path, module: &str) -> Result<(), PluginError> {
    if Path::new(module).starts_with(CARGO_TARGET) {
        return Ok(());
    }
    let root = Root::new(directory);
    let manifest = directory.join("Cargo.toml");
    let text = root.read_text(&manifest, MAX_MANIFEST).map_err(PluginError::file("read", &manifest))?;
    let name = crate_name(&text).ok_or_else(|| PluginError::Request {
        problem: format!("{} names no package whose component could be taken", manifest.display()),
    })?;
    let built = directory.join(CARGO_TARGET).join("wasm32-wasip2/release").join(format!("{name}.wasm"));
    let component = root.read(&built, MAX_BYTES).map_err(PluginError::file("read", &built))?;
    let target = directory.join(module);
    root.write(&target, [&component[..]], &Manner::PROJECT).map_err(PluginError::file("write", &target))
}

/// Returns the name of what cargo builds: the library's, else the package's with `_` for `-`.
fn crate_name(manifest: &str) -> Option<String> {
    let manifest: toml::Table = manifest.parse().ok()?;
    let name = |table: &str| manifest.get(table)?.get("name")?.as_str();
    name("lib").or_else(|| name("package")).map(|name| name.replace('-', "_"))
}

fn component_tool(
    directory: &Path,
    manifest: &Manifest,
    options: &BuildOptions,
) -> Result<Tool, PluginError> {
    let module = manifest.module.clone().unwrap_or_default();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    if directory.join("Cargo.toml").is_file() {
        // Wherever the user builds to, the component is looked for here.
        return Ok(Tool {
            program: "cargo".to_owned(),
            args: words(&format!("build --release --target wasm32-wasip2 --target-dir {CARGO_TARGET}")),
            advice: "see https://rustup.rs, then run `rustup target add wasm32-wasip2`",
        });
    }
    if directory.join("app.py").is_file() {
        let mut args = words("-d wit -w plugin componentize app --stub-wasi -o");
        args.push(module);
        let program = tool_path("componentize-py", &[directory.join("tools/bin")], options);
        return Ok(Tool { program, args, advice: "run `python3 -m pip install componentize-py`" });
    }
    if directory.join("app.js").is_file() {
        let mut args = words(
            "componentize app.js --wit wit -n plugin --backend quickjs --backend-qjs-stub-wasi \
             --backend-qjs-disable-async -o",
        );
        args.push(module);
        let program = tool_path("jco", &[directory.join("node_modules/.bin")], options);
        let advice = "run `npm install @bytecodealliance/jco @bytecodealliance/componentize-js`";
        return Ok(Tool { program, args, advice });
    }
    let problem = format!("{} has no Cargo.toml, app.py or app.js to build from", directory.display());
    Err(PluginError::Request { problem })
}

/// Returns what builds the program of an image, where it is one in Rust.
fn program_tool(directory: &Path) -> Option<Tool> {
    let is_rust = directory.join("Cargo.toml").is_file();
    is_rust.then(|| Tool {
        program: "cargo".to_owned(),
        // Wherever the user builds to, the Containerfile looks for it here.
        args: ["build", "--release", "--target-dir", CARGO_TARGET].map(str::to_owned).to_vec(),
        advice: "see https://rustup.rs",
    })
}

fn image_tool(manifest: &Manifest, options: &BuildOptions) -> Result<Tool, PluginError> {
    let image = manifest.image.clone().unwrap_or_default();
    let path = path_of(options);
    let program =
        ["podman", "docker"].into_iter().find(|name| find_program(name, path, Path::new("/")).is_some());
    let chosen = options.env.iter().find(|(name, _)| name == RUNTIME);
    let chosen = chosen.and_then(|(_, name)| EngineKind::named(name)).map(EngineKind::name);
    let program = chosen.or(program).unwrap_or("podman");
    // While it is built nothing is fetched. A base image that is missing is refused by podman; docker fetches it.
    let mut args: Vec<String> = ["build", "--network=none"].map(str::to_owned).to_vec();
    if program == "podman" {
        args.push("--pull=never".to_owned());
    }
    args.extend(["-f", "Containerfile", "-t", &image, "."].map(str::to_owned));
    Ok(Tool { program: program.to_owned(), args, advice: "install podman or docker" })
}

/// Prefers a tool that is installed beside the plugin.
fn tool_path(name: &str, beside: &[PathBuf], options: &BuildOptions) -> String {
    let near = beside.iter().map(|directory| directory.join(name)).find(|path| path.is_file());
    let near = near.map(|path| path.canonicalize().unwrap_or(path));
    let found = near.or_else(|| find_program(name, path_of(options), Path::new("/")));
    found.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

fn path_of(options: &BuildOptions) -> &str {
    options.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str()).unwrap_or_default()
}
