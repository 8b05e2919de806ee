//! A controller's metrics, over plain HTTP.

use evenkeel_admin::scrape::{self, label};

use super::facts::{Metrics, Syncs};

/// The counter of syncs. Kubernetes gives its counters no suffix; other libraries do.
const NAMES: [&str; 2] =
    ["endpoint_slice_controller_syncs", "endpoint_slice_controller_syncs_total"];

pub(super) async fn read(url: &str) -> Metrics {
    let url = url.to_owned();
    match scrape::fetch(&url).await {
        Ok(text) => Metrics::Read { url, syncs: syncs(&text) },
        Err(problem) => Metrics::Unreachable { url, problem },
    }
}

/// Sums the counter by its label `result`, in Prometheus' text format.
fn syncs(text: &str) -> Syncs {
    let mut syncs = Syncs::default();
    for scrape::Sample { labels, value, .. } in scrape::samples(text, &NAMES) {
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
