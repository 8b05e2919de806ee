//! From a recorded request to the raw one, and from a response to what is compared.

use std::{
    io,
    thread::sleep,
    time::{Duration, Instant},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    bind::Bindings,
    http::{self, Answer, Message},
    scenario::{Auth, Request, Until, Values},
    server::Server,
};

/// Everything except RFC 3986's unreserved characters.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Headers that are compared, in lower case; the last is a prefix.
const HEADERS: [&str; 2] = ["warning", "retry-after"];
const HEADER_PREFIX: &str = "x-kubernetes-pf-";

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// A complete response.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    /// Header names in lower case, with all their values.
    pub(super) headers: Value,
    pub(super) body: Vec<u8>,
}

/// The request with bound values, for `server`.
pub(super) fn message(
    request: &Request,
    server: &Server,
    bindings: &Bindings,
) -> Result<Message, String> {
    let mut headers = authorization(request.auth, &server.token);
    let named = [("Accept", &request.accept), ("Content-Type", &request.content_type)];
    for (name, value) in named {
        headers.extend(value.as_ref().map(|value| (name.to_owned(), value.clone())));
    }
    for (name, values) in &request.headers {
        for value in values.as_slice() {
            headers.push((name.clone(), bindings.fill(value)?));
        }
    }
    let target = target(request, bindings)?;
    let body = body(request, bindings)?;
    Ok(Message { method: request.method.clone(), target, headers, body })
}

fn authorization(auth: Auth, token: &str) -> Vec<(String, String)> {
    let value = match auth {
        Auth::Admin => format!("Bearer {token}"),
        Auth::Bad => "Bearer nobody-has-this-token".to_owned(),
        Auth::Basic => "Basic YWRtaW46YWRtaW4=".to_owned(),
        Auth::None => return Vec::new(),
    };
    vec![("Authorization".to_owned(), value)]
}

fn target(request: &Request, bindings: &Bindings) -> Result<String, String> {
    let mut target = bindings.fill(&request.path)?;
    let each = |(key, values)| Values::as_slice(values).iter().map(move |value| (key, value));
    for (key, value) in request.query.iter().flat_map(each) {
        target.push(if target.contains('?') { '&' } else { '?' });
        target.extend(utf8_percent_encode(key, QUERY));
        target.push('=');
        target.extend(utf8_percent_encode(&bindings.fill(value)?, QUERY));
    }
    Ok(target)
}

fn body(request: &Request, bindings: &Bindings) -> Result<Option<Vec<u8>>, String> {
    if let Some(body) = &request.body {
        return bindings.fill_json(&spaced(body.get())).map(|body| Some(body.into_bytes()));
    }
    if let Some(text) = &request.body_raw {
        return bindings.fill(text).map(|text| Some(text.into_bytes()));
    }
    let repeated = request.body_repeat.as_ref();
    Ok(repeated.map(|r| (r.prefix.clone() + &r.unit.repeat(r.count) + &r.suffix).into_bytes()))
}

/// A compact JSON text with a blank after each colon and comma, as in the recorded bodies: some
/// responses quote the beginning of the body.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for char in text.chars() {
        spaced.push(char);
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = in_string,
            '"' => in_string = !in_string,
            ':' | ',' if !in_string => spaced.push(' '),
            _ => {}
        }
    }
    spaced
}

/// Sends the request and reads the whole response; repeats until it is the expected one.
pub(super) fn exchange(
    server: &Server,
    message: &Message,
    until: Option<&Until>,
) -> io::Result<Received> {
    let start = Instant::now();
    loop {
        let received = Received::read(http::send(&server.target, message)?)?;
        let Some(until) = until else { return Ok(received) };
        if received.is_wanted(until) || start.elapsed().as_secs_f64() > until.within_s {
            return Ok(received);
        }
        sleep(PAUSE);
    }
}

/// The server's response to a plain GET of this path.
pub(super) fn fetch(path: &str, server: &Server) -> Result<Value, String> {
    let request = Request {
        method: "GET".to_owned(),
        path: path.to_owned(),
        accept: Some("application/json".to_owned()),
        ..Request::default()
    };
    let message = message(&request, server, &Bindings::default())?;
    let received = exchange(server, &message, None).map_err(|e| e.to_string())?;
    match received.status {
        200 => Ok(received.value()),
        status => Err(format!("GET {path}: status {status}: {}", received.value())),
    }
}

impl Received {
    pub(super) fn read(mut answer: Answer) -> io::Result<Received> {
        let body = answer.read_all()?;
        let content_type = answer.header("content-type").map(str::to_owned);
        let headers = compared_headers(&answer.headers);
        Ok(Received { status: answer.status, content_type, headers, body })
    }

    /// Parsed, or a string if it is not JSON.
    pub(super) fn value(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| String::from_utf8_lossy(&self.body).into_owned().into())
    }

    fn is_wanted(&self, until: &Until) -> bool {
        let held = |part: &String| String::from_utf8_lossy(&self.body).contains(part.as_str());
        self.status == until.status && until.contains.as_ref().is_none_or(held)
    }
}

/// The compared headers, with names in lower case.
pub(super) fn compared_headers(headers: &[(String, String)]) -> Value {
    let mut found = json!({});
    for (name, value) in headers {
        let name = name.to_lowercase();
        if HEADERS.contains(&name.as_str()) || name.starts_with(HEADER_PREFIX) {
            match found[&name].as_array_mut() {
                Some(values) => values.push(value.clone().into()),
                None => found[&name] = json!([value]),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_come_after_colons_and_commas_but_not_in_strings() {
        let text = r#"{"a":[1,2],"b,\"c:":"d:,\\","e":{}}"#;
        assert_eq!(spaced(text), r#"{"a": [1, 2], "b,\"c:": "d:,\\", "e": {}}"#);
    }
}
