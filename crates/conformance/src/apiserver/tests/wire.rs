//! Encoding of requests and decoding of responses.

use serde_json::{Value, json};

use super::stub::{answer, chunked, stub};
use crate::apiserver::{replay::replay, scenario::Scenario};

const JSON: &str = "Content-Type: application/json\r\n";
const UID: &str = "0f63ee36-9af4-4b26-a1ac-1b67cfa7c8e7";

fn scenario(steps: &Value) -> Scenario {
    let line = json!({"id": "a", "rv_order": [1, 2], "steps": steps}).to_string();
    serde_json::from_str(&line).unwrap()
}

fn object(version: &str) -> String {
    json!({"kind": "X", "metadata": {"resourceVersion": version, "uid": UID, "managedFields": []}})
        .to_string()
}

fn recorded(version: &str) -> Value {
    json!({"status": 200, "content_type": "application/json", "headers": {},
        "body": {"kind": "X", "metadata": {"resourceVersion": version, "uid": "<uid:1>"}}})
}

#[test]
fn paths_are_sent_as_they_are_and_nothing_is_added() {
    let steps = json!([{"setup": true, "response": {"status": 404}, "request": {
        "method": "GET", "path": "//api/./v1/../pods%2Fx", "query": {"labelSelector": "a=b, c"},
        "accept": "*/*", "auth": "none"}}]);
    let mut scenario = scenario(&steps);
    scenario.rv_order = None;
    let (server, played) = stub(vec![answer(404, "", "")]);
    assert_eq!(replay(&scenario, &server), [""; 0]);
    let target = "//api/./v1/../pods%2Fx?labelSelector=a%3Db%2C%20c";
    let host = &server.target.host;
    let expected = format!(
        "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAccept: */*\r\n\r\n"
    );
    assert_eq!(played.join().unwrap(), [expected]);
}

#[test]
fn values_of_earlier_answers_are_sent_and_compared() {
    let steps = json!([
        {"request": {"method": "GET", "path": "/a"}, "response": recorded("<rv:1>")},
        {"request": {"method": "PUT", "path": "/a", "body": {"v": "<rv:1>", "a": "<uid:1>"}},
         "response": recorded("<rv:2>")},
        {"cleanup": true, "request": {"method": "DELETE", "path": "/a"}},
    ]);
    for (first, second, passes) in [("7", "12", true), ("7", "7", false), ("7", "5", false)] {
        let answers = [first, second].map(|version| answer(200, JSON, &object(version)));
        let (server, played) = stub(answers.into());
        assert_eq!(replay(&scenario(&steps), &server).is_empty(), passes, "{first} {second}");
        let requests = played.join().unwrap();
        assert!(requests[1].ends_with(&format!(r#"{{"a": "{UID}", "v": "{first}"}}"#)));
        assert!(requests[1].contains("\r\nAuthorization: Bearer secret\r\n"));
    }
}

#[test]
fn the_order_of_keys_in_a_body_stays() {
    let line = r#"{"id":"a","steps":[{"setup":true,"response":{"status":200},
        "request":{"method":"POST","path":"/a","body":{"b":1,"a":2}}}]}"#;
    let (server, played) = stub(vec![answer(200, "", "")]);
    assert_eq!(replay(&serde_json::from_str(line).unwrap(), &server), [""; 0]);
    assert!(played.join().unwrap()[0].ends_with(r#"{"b": 1, "a": 2}"#));
}

#[test]
fn status_type_headers_and_body_all_count() {
    let response = json!({"status": 200, "content_type": "text/plain", "body": "ok",
        "headers": {"Warning": ["299 - \"a\"", "299 - \"b\""]}});
    let steps = json!([{"request": {"method": "GET", "path": "/a"}, "response": response}]);
    let mut scenario = scenario(&steps);
    scenario.rv_order = None;
    let warnings = "warning: 299 - \"a\"\r\nWARNING: 299 - \"b\"\r\n";
    let plain = "content-type: text/plain\r\n";
    for (got, passes) in [
        (answer(200, &format!("{plain}{warnings}"), "ok"), true),
        (answer(201, &format!("{plain}{warnings}"), "ok"), false),
        (answer(200, &format!("{plain}{warnings}"), "no"), false),
        (answer(200, plain, "ok"), false),
        (answer(200, warnings, "ok"), false),
        (answer(200, &format!("{plain}{warnings}Retry-After: 1\r\n"), "ok"), false),
    ] {
        let (server, played) = stub(vec![got.clone()]);
        assert_eq!(replay(&scenario, &server).is_empty(), passes, "{got}");
        played.join().unwrap();
    }
}

#[test]
fn a_request_is_repeated_until_the_expected_response() {
    let until = json!({"status": 200, "contains": "X", "within_s": 20});
    let steps = json!([{"request": {"method": "GET", "path": "/a"}, "until": until,
        "response": recorded("<rv:1>")}]);
    let mut scenario = scenario(&steps);
    scenario.rv_order = Some(vec![1]);
    let answers = vec![answer(404, "", ""), answer(200, "", "Y"), answer(200, JSON, &object("1"))];
    let (server, played) = stub(answers);
    assert_eq!(replay(&scenario, &server), [""; 0]);
    assert_eq!(played.join().unwrap().len(), 3);
}

#[test]
fn a_stream_is_read_to_the_count_or_its_end() {
    let steps = |count: usize, closed: bool| {
        let object = recorded("<rv:1>")["body"].take();
        json!([
            {"watch_start": "w", "request": {"method": "GET", "path": "/a"},
             "response": {"status": 200, "content_type": "application/json", "headers": {}}},
            {"watch_collect": "w", "count": count, "timeout_s": 20,
             "response": {"events": [{"type": "ADDED", "object": object}], "closed": closed}},
        ])
    };
    let event = format!("{{\"type\":\"ADDED\",\"object\":{}}}\n", object("3"));
    let (begin, end) = event.split_at(30);
    for (chunks, count, closed, passes) in [
        (vec![event.as_str(), ""], 2, true, true),
        (vec![begin, end, ""], 2, true, true),
        (vec![begin, end, ""], 2, false, false),
        (vec![event.as_str(), event.as_str(), ""], 1, false, true),
        (vec![event.as_str(), event.as_str(), ""], 2, false, false),
        (vec![""], 1, true, false),
    ] {
        let mut scenario = scenario(&steps(count, closed));
        scenario.rv_order = None;
        let (server, played) = stub(vec![chunked(JSON, &chunks)]);
        assert_eq!(replay(&scenario, &server).is_empty(), passes, "{chunks:?} {count} {closed}");
        played.join().unwrap();
    }
}
