//! Control over HTTP, and the program.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use vprep_testkit::{Content, Hub};

use crate::client::{get, send};

#[test]
fn set_up_faults_and_log() {
    let hub = Hub::start().unwrap();
    let setup = json!({
        "repos": [{"kind": "model", "id": "a/b", "files": {"config.json": {"text": "{}"}}}],
        "files": {"x": {"content": {"random": {"seed": 7, "bytes": 100}}, "etag": {"s3": 60}}},
        "page": 5,
    });
    let commits = send(&hub, "POST", "/_test/setup", &[], &setup.to_string()).json();
    assert_eq!(commits["models/a/b"], get(&hub, "/api/models/a/b").json()["sha"]);
    assert!(get(&hub, "/files/x").header("etag").unwrap().ends_with("-2\""));

    let rule = r#"{"path": "files/x", "fault": {"kind": "cut", "after": 9}, "times": 1}"#;
    assert_eq!(send(&hub, "POST", "/_test/faults", &[], rule).status, 200);
    assert_eq!(get(&hub, "/_test/faults").json()[0]["fault"]["kind"], "cut");
    assert_eq!(get(&hub, "/files/x").body.len(), 9);
    assert!(get(&hub, "/files/x").body == Content::random(7, 100).to_vec());

    let log = get(&hub, "/_test/log").json();
    assert_eq!(log.as_array().unwrap().len(), 4);
    assert_eq!((&log[2]["bytes"], &log[2]["key"]), (&json!(9), &json!("files/x")));
    send(&hub, "DELETE", "/_test/log", &[], "");
    send(&hub, "DELETE", "/_test/faults", &[], "");
    assert_eq!((hub.log().len(), get(&hub, "/_test/faults").json()), (0, json!([])));
}

#[test]
fn mistakes_are_told() {
    let hub = Hub::start().unwrap();
    let post = |path, body| send(&hub, "POST", path, &[], body);
    let refused = post("/_test/faults", r#"{"path": "x", "fault": {"kind": "kut"}}"#);
    assert_eq!(refused.status, 400);
    assert!(refused.json()["error"].as_str().unwrap().contains("kut"), "{refused:?}");
    let missing = r#"{"files": {"x": {"content": {"disk": "/no/such"}}}}"#;
    assert!(post("/_test/setup", missing).json()["error"].as_str().unwrap().contains("/no/such"));
    assert_eq!(get(&hub, "/_test/other").status, 404);
}

#[test]
fn the_program_serves_until_stdin_closes() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_vprep-testhub"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let other = Hub::start().unwrap();
    let log = get(&other, &format!("{}/_test/log", url.trim()));
    assert_eq!(log.json(), Value::Array(Vec::new()));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
