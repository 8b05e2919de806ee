//! A controller's metrics, over plain HTTP.

use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::{Request, Uri, body::Bytes, client::conn::http1, header::HOST};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

use super::facts::{Metrics, Syncs};

const PATIENCE: Duration = Duration::from_secs(3);
const LARGEST: usize = 32 << 20;

/// The counter of syncs. Kubernetes gives its counters no suffix; other libraries do.
const NAMES: [&str; 2] =
    ["endpoint_slice_controller_syncs", "endpoint_slice_controller_syncs_total"];

pub(super) async fn read(url: &str) -> Metrics {
    let url = url.to_owned();
    match timeout(PATIENCE, fetch(&url)).await {
        Ok(Ok(text)) => Metrics::Read { url, syncs: syncs(&text) },
        Ok(Err(problem)) => Metrics::Unreachable { url, problem },
        Err(_) => Metrics::Unreachable { url, problem: "timed out".to_owned() },
    }
}

async fn fetch(url: &str) -> Result<String, String> {
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
        if !answer.status().is_success() {
            return Err(format!("HTTP status {}", answer.status()));
        }
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        String::from_utf8(body.into()).map_err(|_| "the response is not text".to_owned())
    };
    // The connection ends after the response, or with an error that the response reports too.
    tokio::select! {
        answer = answer => answer,
        Err(error) = connection => Err(error.to_string()),
    }
}

/// Sums the counter by its label `result`, in Prometheus' text format.
fn syncs(text: &str) -> Syncs {
    let mut syncs = Syncs::default();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once('{') else { continue };
        let Some((labels, value)) = rest.split_once('}') else { continue };
        // A timestamp may follow the value.
        let value = value.split_whitespace().next().and_then(|value| value.parse::<f64>().ok());
        let (true, Some(value)) = (NAMES.contains(&name), value) else { continue };
        let into = match label(labels, "result") {
            Some("success") => &mut syncs.success,
            Some("stale") => &mut syncs.stale,
            Some("error") => &mut syncs.error,
            _ => continue,
        };
        *into += value as u64;
    }
    syncs
}

/// The value of a label; those of this counter have nothing to unescape.
fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = labels.split(',').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    Some(value.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    const TEXT: &str = "\
# TYPE endpoint_slice_controller_syncs counter
endpoint_slice_controller_syncs{result=\"success\"} 40
endpoint_slice_controller_syncs{result=\"error\"} 2 1700000000
endpoint_slice_controller_syncs_total{result=\"stale\"} 1.0
endpoint_slice_controller_syncs_other{result=\"error\"} 9
endpoint_slice_controller_num_endpoint_slices 3
endpoint_slice_controller_syncs{result=\"error\"} x
";

    #[test]
    fn syncs_are_summed_by_result() {
        assert_eq!(syncs(TEXT), Syncs { success: 40, stale: 1, error: 2 });
        assert_eq!(syncs("}{\n{\n"), Syncs::default());
    }

    async fn answering(answer: String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 1024];
            let n = stream.read(&mut asked).await.unwrap();
            assert!(asked[..n].starts_with(b"GET /metrics HTTP/1.1\r\n"));
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        format!("http://{address}/metrics")
    }

    #[tokio::test]
    async fn metrics_are_read_over_http() {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", TEXT.len());
        let url = answering(head + TEXT).await;
        let read = read(&url).await;
        assert_eq!(read, Metrics::Read { url, syncs: Syncs { success: 40, stale: 1, error: 2 } });
    }

    #[tokio::test]
    async fn what_is_not_metrics_is_a_problem() {
        let refused = answering("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".into()).await;
        let nonsense = answering("SSH-2.0\r\n\r\n".into()).await;
        let gone = {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            format!("http://{}/metrics", listener.local_addr().unwrap())
        };
        let cases = [
            (refused.as_str(), "404"),
            (nonsense.as_str(), "invalid"),
            (gone.as_str(), "refused"),
            ("https://127.0.0.1/metrics", "only http://"),
            ("not a url", "not a URL"),
        ];
        for (url, expected) in cases {
            let Metrics::Unreachable { problem, .. } = read(url).await else { panic!("{url}") };
            assert!(problem.contains(expected), "{url}: {problem}");
        }
    }
}
