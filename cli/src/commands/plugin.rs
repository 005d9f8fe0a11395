//! `plugin`: making, checking, building and trying plugins.

use std::{path::Path, time::Duration};

use samuel_core::{
    hook::HookPoint,
    plugin::{
        BuildOptions, Manifest, NewPlugin, PluginKind, PluginLanguage, RegistryAddress, Scaffolded,
        SdkSource, ValidPlugin, build, manifest_schema, pack, publish, scaffold, validate,
    },
    text::{counted, lasting},
};
use tokio_util::sync::CancellationToken;

use super::{block_on, block_on_or_leave, hooks::unknown_point, link::link, plugins::fetch_options, trial};
use crate::{
    args::{Global, NewPluginArgs, PackArgs, PluginCommand, PluginDirectory, PublishArgs},
    failure::{Failure, io_failure},
    host::Host,
    render::safe,
    reply::Reply,
};

/// How long the tools of a language may take.
const BUILD_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How many files of an archive are shown to people.
const SHOWN_FILES: usize = 40;

/// Carries out a command about a plugin's directory.
pub(crate) fn run(command: PluginCommand, global: &Global, host: &Host) -> Result<Reply, Failure> {
    match command {
        PluginCommand::Validate(args) => check_plugin(&args, global, host),
        PluginCommand::Schema => schema(),
        PluginCommand::New(args) => new(&args, global, host),
        PluginCommand::Build(args) => build_plugin(&args, global, host),
        PluginCommand::Test(args) => trial::test(&args, global, host),
        PluginCommand::Link(args) => link(&args, global, host),
        PluginCommand::Pack(args) => pack_plugin(&args, global, host),
        PluginCommand::Publish(args) => publish_plugin(&args, global, host),
    }
}

fn check_plugin(args: &PluginDirectory, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let directory = host.directory(global)?.join(&args.plugin);
    let valid = block_on(validate(&directory, &fetch_options(host)?))??;
    let Manifest { name, version, .. } = &valid.manifest;
    let text = format!("{} {version} is valid\n", safe(name));
    let ignored = left_out(&valid);
    Ok(Reply::new(&valid, text).warn(ignored))
}

/// Tells of files that a clone of the plugin would lack.
fn left_out(valid: &ValidPlugin) -> Option<String> {
    (!valid.ignored.is_empty()).then(|| {
        format!(
            "git leaves out {}, by a .gitignore: the plugin cannot be installed from a clone of it",
            safe(&valid.ignored.join(", "))
        )
    })
}

/// Tells of files that go along with the plugin although git leaves them out.
fn taken_along(ignored: &[String]) -> Option<String> {
    (!ignored.is_empty()).then(|| {
        format!(
            "git leaves out {}, by a .gitignore, and the archive has it all the same: everybody who gets the plugin can \
             read it",
            safe(&ignored.join(", "))
        )
    })
}

/// Lists the files of an archive.
fn files_text(files: &[String]) -> String {
    let mut text = format!("  {}\n", counted(files.len(), "file"));
    files.iter().take(SHOWN_FILES).for_each(|file| text.push_str(&format!("    {}\n", safe(file))));
    match files.len().saturating_sub(SHOWN_FILES) {
        0 => text,
        more => format!("{text}    and {more} more\n"),
    }
}

fn pack_plugin(args: &PackArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let here = host.directory(global)?;
    let into = args.output.as_ref().map_or_else(|| here.clone(), |output| here.join(output));
    std::fs::create_dir_all(&into).map_err(|error| io_failure("create", &into, &error))?;
    let packed = block_on(pack(&here.join(&args.plugin.plugin), &into, &fetch_options(host)?))??;
    let text = format!(
        "Packed {} {}: {}\n  {}\n  {} bytes\n{}",
        safe(&packed.name),
        safe(&packed.version),
        safe(&packed.archive.display().to_string()),
        packed.digest,
        packed.bytes,
        files_text(&packed.files)
    );
    let unsaid = packed.unsaid.join(", ");
    let unsaid =
        (!unsaid.is_empty()).then(|| format!("samuel-plugin.toml does not say {unsaid}, in [plugin]"));
    Ok(Reply::new(&packed, text).warn(unsaid).warn(taken_along(&packed.ignored)))
}

fn publish_plugin(args: &PublishArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let address = RegistryAddress::parse(&args.address).map_err(|problem| {
        Failure::usage(format!("\"{}\" cannot be published to: {problem}", safe(&args.address)))
    })?;
    let directory = host.directory(global)?.join(&args.plugin.plugin);
    let options = fetch_options(host)?;
    let done = block_on_or_leave(publish(&directory, &address, args.force, &options))??;
    let verb = if done.was_there { "Was there already:" } else { "Published" };
    let text = format!(
        "{verb} {} {}\n{}Install it with `samuel install {}`\n",
        safe(&done.name),
        safe(&done.version),
        files_text(&done.files),
        safe(&done.address)
    );
    Ok(Reply::new(&done, text).warn(taken_along(&done.ignored)))
}

fn schema() -> Result<Reply, Failure> {
    let schema = manifest_schema();
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    Ok(Reply::new(schema, text))
}

fn new(args: &NewPluginArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let here = host.directory(global)?;
    let is_here = here.file_name().is_some_and(|name| name == args.name.as_str())
        && std::fs::read_dir(&here).is_ok_and(|mut entries| entries.next().is_none());
    let directory = match &args.path {
        Some(path) => here.join(path),
        None if is_here => here,
        None => here.join(&args.name),
    };
    let sdk = match (&args.sdk_path, &args.sdk_git, &args.sdk_version) {
        (Some(path), ..) => {
            let path = host.absolute(path)?;
            SdkSource::Path(path.canonicalize().map_err(|error| io_failure("find", &path, &error))?)
        }
        (None, Some(url), _) => SdkSource::Git(url.clone()),
        (None, None, Some(version)) => SdkSource::Registry(version.clone()),
        (None, None, None) => SdkSource::Carried,
    };
    let point = match &args.point {
        Some(_) if args.kind == Some(PluginKind::Methodology) => {
            return Err(Failure::usage("a methodology handles no hook point of its own").advise(
                "Leave out --point, or make a plugin of another kind, which may have a methodology too.",
            ));
        }
        Some(point) => point.parse::<HookPoint>().map_err(|unknown| unknown_point(&unknown))?,
        None => HookPoint::ContextExtra,
    };
    let kind = match (args.kind, args.lang) {
        // What a shell reads is no component.
        (Some(kind @ (PluginKind::Wasm | PluginKind::Oci)), Some(PluginLanguage::Shell)) => {
            let failure = Failure::usage(format!("a plugin of kind {kind} is not made in sh"));
            return Err(failure.advise("Leave out --kind for a script, or pass another --lang."));
        }
        (None, Some(PluginLanguage::Shell)) => PluginKind::Skill,
        (kind, _) => kind.unwrap_or(PluginKind::Wasm),
    };
    let plugin = NewPlugin { name: args.name.clone(), kind, language: args.lang, point, sdk };
    let done = scaffold(&directory, &plugin)?;
    Ok(Reply::new(&done, new_text(&done)))
}

fn new_text(done: &Scaffolded) -> String {
    let directory = safe(&done.directory.display().to_string());
    let language = done.language.map(|language| format!(" in {language}")).unwrap_or_default();
    let mut text = format!("Created a plugin of kind {}{language}: {directory}\n", done.kind);
    let carried = |file: &&String| file.starts_with("wit/deps/") || file.starts_with("sdk/");
    let shown = done.files.iter().filter(|file| !carried(file));
    shown.for_each(|file| text.push_str(&format!("  wrote {}\n", safe(file))));
    let count = done.files.iter().filter(carried).count();
    if count > 0 {
        text.push_str(&format!("  wrote {} that it is built with\n", counted(count, "file")));
    }
    text + match done.kind {
        // Text has nothing to build, and what handles nothing nothing to try.
        PluginKind::Methodology => "Next: read its README.md, then `samuel install` it from a project\n",
        PluginKind::Skill => "Next: read its README.md, then `samuel plugin test` there\n",
        _ => "Next: read its README.md, then `samuel plugin build` and `samuel plugin test` there\n",
    }
}

/// Returns how plugins are built by this process.
fn build_options(host: &Host) -> Result<BuildOptions, Failure> {
    Ok(BuildOptions {
        env: host.env.clone(),
        supervisor: host.supervisor()?,
        timeout: BUILD_TIMEOUT,
        cancel: CancellationToken::new(),
    })
}

/// Builds a plugin that is built at all.
pub(super) async fn build_again(directory: &Path, host: &Host) -> Result<(), Failure> {
    let kind = Manifest::load(directory)?.kind;
    if matches!(kind, PluginKind::Wasm | PluginKind::Oci) {
        build(directory, &build_options(host)?).await?;
    }
    Ok(())
}

fn build_plugin(args: &PluginDirectory, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let directory = host.directory(global)?.join(&args.plugin);
    let report = block_on(build(&directory, &build_options(host)?))??;
    let text = match (&report.command, &report.made) {
        (Some(command), made) => {
            let made = made.as_deref().unwrap_or_default();
            let took = lasting(Duration::from_millis(report.took_ms));
            format!("Built {} with {} in {took}\n", safe(made), safe(command))
        }
        (None, _) => "Nothing has to be built; the plugin is valid\n".to_owned(),
    };
    Ok(Reply::new(&report, text))
}
