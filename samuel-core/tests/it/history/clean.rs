//! Hiding secrets in what earlier versions recorded.

use std::fs;

use sha2::Digest as _;

use crate::history::kit::{checked, on_disk};

const KEY: &str = "zq9xk7v2m4tq8w1c";

/// Returns a line of recorded inputs with an environment, as earlier versions wrote them.
fn with_environment(line: &str) -> String {
    let variables = format!(r#""env":[["PATH","/usr/bin"],["MY_FLAG","{KEY}"]]"#);
    let line = line.replace(r#""env":[]"#, &variables);
    let body = line.rsplit_once(",\"sum\":\"").unwrap().0;
    let sum: String = sha2::Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{body},\"sum\":\"{}\"}}\n", &sum[..16])
}

#[tokio::test(flavor = "multi_thread")]
async fn cleaned_records_have_no_secret_and_replay_equal() {
    let bench = on_disk(&[("1", "First")]);
    let played = bench.play(checked(&bench, "true")).await.unwrap();
    let run = played.replay().unwrap().run;
    let dir = bench.lane().dir().clone();
    let inputs = dir.logs(&run).join("inputs.jsonl");
    let written = fs::read_to_string(&inputs).unwrap();
    assert!(written.contains(r#""env":[]"#));
    fs::write(&inputs, written.lines().map(with_environment).collect::<String>()).unwrap();
    let output = dir.logs(&run).join("1-1.out");
    fs::write(&output, format!("it is {KEY}\n")).unwrap();
    let progress = fs::read_to_string(dir.progress()).unwrap() + &format!("\nit is {KEY}\n");
    fs::write(dir.progress(), progress).unwrap();
    assert!(bench.project().has_recorded_environment());

    let preview = bench.project().preview_cleaning(&[]).unwrap();
    assert!(fs::read_to_string(&output).unwrap().contains(KEY), "a preview changes nothing");
    let cleaned = bench.project().clean_records(&[]).unwrap();
    assert_eq!(preview, cleaned);
    assert_eq!(cleaned.variables, ["MY_FLAG", "PATH"]);
    assert_eq!(cleaned.failures, [""; 0]);
    assert_eq!(cleaned.files.last(), Some(&inputs), "they have the values");
    for path in [&inputs, &output, &dir.progress()] {
        assert!(cleaned.files.contains(path) && !fs::read_to_string(path).unwrap().contains(KEY), "{path:?}");
    }
    assert_eq!(fs::read_to_string(&inputs).unwrap(), written);
    assert!(played.replay().unwrap().equal);
    assert!(bench.project().clean_records(&[]).unwrap().files.is_empty());
}
