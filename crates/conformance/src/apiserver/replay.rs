//! Replays one scenario against a server.

use std::{collections::HashMap, fmt::Display, thread::sleep};

use serde_json::{Value, json};

use super::{
    bind::Bindings,
    compare::compare,
    cut::{cut, drop_managed_fields},
    http,
    later::is_later_step,
    scenario::{Exchange, ManagedFields, Scenario, Step},
    send::{Received, compared_headers, exchange, message},
    server::Server,
    watch::Watch,
};

/// The differences of the first step that has any, one per line; none is a pass.
pub(super) fn replay(scenario: &Scenario, server: &Server) -> Vec<String> {
    let managed_fields = scenario.managed_fields;
    let mut play =
        Play { server, managed_fields, bindings: Bindings::default(), watches: HashMap::new() };
    for (number, step) in (1..).zip(&scenario.steps).filter(|(_, step)| !is_later_step(step)) {
        let found = play.step(step).unwrap_or_else(|problem| vec![problem]);
        if !found.is_empty() {
            let what = step.exchange().map(|e| format!("{} {}", e.request.method, e.request.path));
            let what = what.unwrap_or_default();
            let head = format!("({})\nstep {number} {what}", scenario.why);
            return std::iter::once(head).chain(found).collect();
        }
    }
    let order = scenario.rv_order.as_ref().map_or(Ok(()), |order| play.bindings.check_order(order));
    order.err().into_iter().collect()
}

struct Play<'a> {
    server: &'a Server,
    managed_fields: ManagedFields,
    bindings: Bindings,
    watches: HashMap<&'a str, Watch>,
}

impl<'a> Play<'a> {
    fn step(&mut self, step: &'a Step) -> Result<Vec<String>, String> {
        match step {
            Step::Cleanup => {}
            Step::Sleep(time) => sleep(*time),
            Step::Compact => {
                let compact = self.server.compact.as_ref();
                compact.ok_or("this server cannot be made to forget its history")?();
            }
            Step::Setup(wanted) => {
                let got = self.send(wanted)?;
                let expected = wanted.response.status;
                if got.status != expected {
                    return Ok(vec![format!(
                        "setup: status {} for {expected}: {}",
                        got.status,
                        got.value()
                    )]);
                }
            }
            Step::Request(wanted) => {
                let got = self.send(wanted)?;
                return self.compare(wanted, &got);
            }
            Step::WatchStart { name, exchange } => return self.watch(name, exchange),
            Step::WatchCollect { name, count, timeout, events, closed } => {
                let watch = self.watches.get_mut(name.as_str()).ok_or("no such watch")?;
                let got = watch.collect(*count, *timeout).map_err(text)?;
                let expected = json!({"events": events, "closed": closed});
                let mut got = json!({"events": got.events, "closed": got.closed});
                self.strip(&mut got);
                return Ok(compare("", &expected, &got, &mut self.bindings));
            }
        }
        Ok(Vec::new())
    }

    fn send(&self, wanted: &Exchange) -> Result<Received, String> {
        let message = message(&wanted.request, self.server, &self.bindings)?;
        exchange(self.server, &message, wanted.until.as_ref()).map_err(text)
    }

    fn watch(&mut self, name: &'a str, wanted: &Exchange) -> Result<Vec<String>, String> {
        let message = message(&wanted.request, self.server, &self.bindings)?;
        let answer = http::send(&self.server.target, &message).map_err(text)?;
        if wanted.response.status != 200 || answer.status != 200 {
            return self.compare(wanted, &Received::read(answer).map_err(text)?);
        }
        let content_type = answer.header("content-type").map(str::to_owned);
        let headers = compared_headers(&answer.headers);
        let head = Received { status: answer.status, content_type, headers, body: Vec::new() };
        self.watches.insert(name, Watch::new(answer));
        Ok(compare("", &expected_head(wanted), &got_head(&head), &mut self.bindings))
    }

    fn compare(&mut self, wanted: &Exchange, got: &Received) -> Result<Vec<String>, String> {
        let mut expected = expected_head(wanted);
        let mut answer = got_head(got);
        if let Some(body) = &wanted.response.body {
            let mut real = got.value();
            self.strip(&mut real);
            if let Some(name) = &wanted.compare {
                real = cut(name, real, body)?;
            }
            expected["body"] = body.clone();
            answer["body"] = real;
        }
        let found = compare("", &expected, &answer, &mut self.bindings);
        if !found.is_empty() && got.status != wanted.response.status {
            return Ok(vec![format!(
                "status {} for {}: {}",
                got.status,
                wanted.response.status,
                String::from_utf8_lossy(&got.body)
            )]);
        }
        Ok(found)
    }

    fn strip(&self, value: &mut Value) {
        if self.managed_fields == ManagedFields::Dropped {
            drop_managed_fields(value);
        }
    }
}

fn expected_head(wanted: &Exchange) -> Value {
    let headers = wanted.response.headers.iter().map(|(name, v)| (name.to_lowercase(), json!(v)));
    json!({
        "status": wanted.response.status,
        "content_type": wanted.response.content_type,
        "headers": Value::Object(headers.collect()),
    })
}

fn got_head(got: &Received) -> Value {
    json!({"status": got.status, "content_type": got.content_type, "headers": got.headers})
}

fn text(e: impl Display) -> String {
    e.to_string()
}
