//! What another process answers over plain HTTP, within bounds of time and size, and metrics in Prometheus'
//! text format. The peer may lie, stall or reset: nothing of it is believed here but its bytes.

use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::{Request, StatusCode, Uri, body::Bytes, client::conn::http1, header::HOST};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

/// From the connection to the last byte.
const PATIENCE: Duration = Duration::from_secs(3);
/// Of a body.
const LARGEST: usize = 32 << 20;

/// A line with labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// Without braces.
    pub labels: &'a str,
    pub value: f64,
}

/// The text at a URL, or what is wrong.
pub async fn fetch(url: &str) -> Result<String, String> {
    match ask(url).await? {
        (status, text) if status.is_success() => Ok(text),
        (status, _) => Err(format!("HTTP status {status}")),
    }
}

/// What a server answers, with any status.
pub async fn ask(url: &str) -> Result<(StatusCode, String), String> {
    timeout(PATIENCE, get(url)).await.unwrap_or_else(|_| Err("timed out".to_owned()))
}

/// The samples of the metrics of these names.
pub fn samples<'a>(text: &'a str, names: &'a [&'a str]) -> impl Iterator<Item = Sample<'a>> {
    text.lines().filter_map(|line| {
        let (name, rest) = line.split_once('{')?;
        let (labels, value) = rest.rsplit_once('}')?;
        // A timestamp may follow the value.
        let value = value.split_whitespace().next()?.parse().ok()?;
        names.contains(&name).then_some(Sample { labels, value })
    })
}

async fn get(url: &str) -> Result<(StatusCode, String), String> {
    let uri: Uri = url.parse().map_err(|_| "not a URL".to_owned())?;
    if uri.scheme_str() != Some("http") {
        return Err("only http:// URLs are supported".to_owned());
    }
    let host = uri.authority().ok_or("the URL has no host")?.as_str().to_owned();
    let address =
        (uri.host().unwrap_or_default().trim_matches(['[', ']']), uri.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let connected = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(|error| error.to_string())?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path).header(HOST, host).body(Empty::<Bytes>::new());
    let request = request.map_err(|error| error.to_string())?;
    let answer = async {
        let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        let text =
            String::from_utf8(body.into()).map_err(|_| "the response is not text".to_owned());
        text.map(|text| (status, text))
    };
    // The connection ends after the response, or with an error that the response reports too.
    tokio::select! {
        answer = answer => answer,
        Err(error) = connection => Err(error.to_string()),
    }
}

/// The value of a label. Names of zones and Services, and constants, have nothing to unescape.
pub fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = labels.split(',').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    Some(value.trim_matches('"'))
}

#[cfg(test)]
mod tests;
