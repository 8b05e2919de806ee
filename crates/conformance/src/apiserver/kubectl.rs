//! The requests that kubectl sends, replayed.
//!
//! A record is one command with the requests that it sent; kubectl itself does not run here. Status
//! and content type of each response are compared. Bodies are not recorded; the test that runs the
//! real kubectl shows that the responses work for it.
//!
//! - The commands of a build ran one after the other, but not all of them are recorded. So the
//!   state that a command expects is prepared: an object whose first recorded response shows that
//!   it existed is created, any other is removed.
//! - Masked parts of requests are filled from the server's own responses to the same command: the
//!   last version and uid, the hash from the OpenAPI index. A watch is opened, its head is
//!   compared, and it is dropped.
//! - 304 was the response to an `ETag` in kubectl's cache, so the request is sent twice, the second
//!   time with the tag of the first response.

mod found;
mod masks;

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    bind::Bindings,
    http::{self, Message},
    later::is_apply,
    scenario,
    send::{Received, message},
    server::{Server, start},
};
use crate::{Report, report::Verdict};

use self::{found::put_up, masks::Seen};

#[derive(Deserialize)]
struct Record {
    id: String,
    kubectl: String,
    command: String,
    requests: Vec<Request>,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    path: String,
    #[serde(default)]
    query: BTreeMap<String, String>,
    accept: Option<String>,
    content_type: Option<String>,
    status: u16,
    response_content_type: Option<String>,
    body: Option<Box<RawValue>>,
    body_text: Option<String>,
    body_base64: Option<String>,
}

/// Replays all records; each build of kubectl has its own server.
pub(super) fn run(file: &str, text: &str, report: &mut Report) {
    let mut servers: BTreeMap<String, Result<Server, String>> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty()) {
        let record: Record = match serde_json::from_str(line) {
            Ok(record) => record,
            Err(problem) => {
                let verdict = Verdict::Failed(format!("not a case: {problem}"));
                report.count(file, &format!("line {number}"), verdict);
                continue;
            }
        };
        let verdict = if record.requests.iter().any(Request::is_later) {
            Verdict::Later
        } else {
            let start = || start("default");
            match servers.entry(record.kubectl.clone()).or_insert_with(start) {
                Ok(server) => judge(&record, server),
                Err(problem) => Verdict::Failed(problem.clone()),
            }
        };
        report.count(file, &record.id, verdict);
    }
}

fn judge(record: &Record, server: &Server) -> Verdict {
    match put_up(record, server).and_then(|()| replay(record, server)) {
        Ok(found) if found.is_empty() => Verdict::Passed,
        Ok(found) => Verdict::Failed(format!("{}\n{}", record.command, found.join("\n"))),
        Err(problem) => Verdict::Failed(format!("{}\n{problem}", record.command)),
    }
}

fn replay(record: &Record, server: &Server) -> Result<Vec<String>, String> {
    let mut seen = Seen::default();
    let mut found = Vec::new();
    for request in &record.requests {
        let mut message = request.message(server, &seen, &record.command)?;
        if request.status == 304 {
            let first = http::send(&server.target, &message).map_err(|e| e.to_string())?;
            let tag = first.header("etag").ok_or("an answer without ETag")?.to_owned();
            message.headers.push(("If-None-Match".to_owned(), tag));
        }
        let got = request.answer(&message, server)?;
        seen.note(&request.path, &got.value());
        found.extend(request.compare(&got));
    }
    Ok(found)
}

impl Request {
    fn is_later(&self) -> bool {
        is_apply(self.content_type.as_deref())
    }

    fn is_watch(&self) -> bool {
        self.query.get("watch").is_some_and(|watch| watch == "true" || watch == "1")
    }

    fn message(&self, server: &Server, seen: &Seen, command: &str) -> Result<Message, String> {
        let mut plain = scenario::Request {
            method: self.method.clone(),
            path: self.path.clone(),
            accept: self.accept.clone(),
            content_type: self.content_type.clone(),
            ..scenario::Request::default()
        };
        for (key, value) in &self.query {
            let value = seen.fill(value, &self.path, server)?;
            plain.query.insert(key.clone(), scenario::Values::One(value));
        }
        let mut message = message(&plain, server, &Bindings::default())?;
        message.body = self.body(seen, server)?;
        message.headers.extend(impersonation(command));
        Ok(message)
    }

    fn body(&self, seen: &Seen, server: &Server) -> Result<Option<Vec<u8>>, String> {
        if let Some(bytes) = &self.body_base64 {
            return STANDARD.decode(bytes).map(Some).map_err(|e| e.to_string());
        }
        let text = self.body.as_ref().map(|body| body.get()).or(self.body_text.as_deref());
        let Some(text) = text else { return Ok(None) };
        seen.fill(text, &self.path, server).map(|text| Some(text.into_bytes()))
    }

    fn answer(&self, message: &Message, server: &Server) -> Result<Received, String> {
        let answer = http::send(&server.target, message).map_err(|e| e.to_string())?;
        if self.is_watch() && answer.status == 200 {
            let content_type = answer.header("content-type").map(str::to_owned);
            let (status, headers) = (answer.status, Value::Null);
            return Ok(Received { status, content_type, headers, body: Vec::new() });
        }
        Received::read(answer).map_err(|e| e.to_string())
    }

    fn compare(&self, got: &Received) -> Option<String> {
        let what = format!("{} {} {:?}", self.method, self.path, self.query);
        if got.status != self.status {
            let body = String::from_utf8_lossy(&got.body);
            return Some(format!("{what}: status {} for {}: {body}", got.status, self.status));
        }
        let (expected, real) = (self.response_content_type.as_deref(), got.content_type.as_deref());
        if self.status == 304 || expected == real {
            return None;
        }
        Some(format!("{what}: content type\n  - {expected:?}\n  + {real:?}"))
    }
}

/// The headers of `--as` and `--as-group`.
fn impersonation(command: &str) -> Vec<(String, String)> {
    let header = |word: &str| {
        let (flag, value) = word.split_once('=')?;
        let name = match flag {
            "--as" => "Impersonate-User",
            "--as-group" => "Impersonate-Group",
            "--as-uid" => "Impersonate-Uid",
            _ => return None,
        };
        Some((name.to_owned(), value.to_owned()))
    };
    command.split(' ').filter_map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_another_user_become_headers() {
        let headers = impersonation("kubectl get cm --as=bob --as-group=devs -o=yaml");
        let expected = [("Impersonate-User", "bob"), ("Impersonate-Group", "devs")];
        assert_eq!(headers, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
    }
}
