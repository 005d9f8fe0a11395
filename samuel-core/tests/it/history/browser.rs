//! A browser without a window, which says how a page looks and what goes wrong in it.
//!
//! It is Chromium, spoken to over a pair of pipes by its own protocol: a message is JSON and ends with a zero byte.
//! It reaches no network.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// How long the browser may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The names under which it is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
/// What its standard output and input are to be, for the protocol.
const PIPES: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>&2";

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    last_id: u64,
    /// What the page told since it was opened.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts one; nothing where none is installed.
    pub(crate) fn start() -> Option<Self> {
        let program = installed()?;
        let profile = tempfile::tempdir().unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", PIPES]).arg(program).args([
            "--headless=new",
            "--remote-debugging-pipe",
            // Without a user of its own its sandbox does not start; the pages are the tests' own.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-extensions",
            "--disable-component-update",
            "--disable-background-networking",
            "--disable-sync",
            "--metrics-recording-only",
            // Every other host has no address.
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ]);
        shell.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        shell.env("HOME", profile.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // It has many processes, which go with it.
        let mut child = shell.process_group(0).spawn().unwrap();
        let (to, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(message) = message else { return };
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
            }
        });
        let (session, last_id, events) = (String::new(), 0, Vec::new());
        let mut browser = Self { child, to, from, session, last_id, events, _profile: profile };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.ask("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a file in a window of a width, for a reader who prefers light or dark.
    pub(crate) fn open(&mut self, file: &Path, width: u32, scheme: &str) {
        let window = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", window);
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.ask("Emulation.setEmulatedMedia", features);
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        let deadline = Instant::now() + PATIENCE;
        let has_loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(has_loaded) {
            let event = self.read(deadline);
            self.events.push(event);
        }
    }

    /// Returns the value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true });
        self.ask("Runtime.evaluate", asked)["result"]["value"].clone()
    }

    /// Returns what the page told that a page without faults does not tell.
    pub(crate) fn complaints(&self) -> Vec<&Value> {
        let is_complaint = |event: &&Value| {
            let complaints = [
                "Log.entryAdded",
                "Runtime.consoleAPICalled",
                "Runtime.exceptionThrown",
                "Network.loadingFailed",
                "Page.javascriptDialogOpening",
            ];
            event["method"].as_str().is_some_and(|method| complaints.contains(&method))
        };
        self.events.iter().filter(is_complaint).collect()
    }

    /// Returns the addresses that the page asked for.
    pub(crate) fn requests(&self) -> Vec<&str> {
        let requests = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        requests.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let told = self.read(deadline);
            if told["id"] == self.last_id {
                assert!(told.get("error").is_none(), "{method}: {told}");
                return told["result"].clone();
            }
            self.events.push(told);
        }
    }

    fn read(&self, deadline: Instant) -> Value {
        self.from
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            .expect("the browser answers")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}

fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let named =
        |name: &&str| places.iter().map(|place| place.join(OsStr::new(name))).find(|file| file.is_file());
    NAMES.iter().find_map(named)
}
