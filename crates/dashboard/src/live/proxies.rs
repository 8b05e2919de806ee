//! Asks proxies for their counters.

use std::{collections::BTreeMap, time::Duration};

use evenkeel_admin::scrape;
use futures_util::{StreamExt as _, stream};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep},
};

use crate::{
    counters::{Counters, shown},
    feed::{Feed, Shown},
    view::Measured,
};

/// How often.
const EVERY: Duration = Duration::from_secs(3);

/// Proxies that are asked at the same time.
const TOGETHER: usize = 16;

/// `urls`: of the metrics of each proxy. Nobody is asked while nobody looks.
pub(super) async fn measure(
    mut urls: watch::Receiver<Vec<String>>,
    feed: &Feed<Shown>,
    send: mpsc::Sender<Measured>,
) {
    let (begun, mut counters) = (Instant::now(), Counters::default());
    loop {
        feed.somebody_looks().await;
        let known = urls.borrow_and_update().clone();
        counters.keep(&known);
        counters.take(begun.elapsed(), ask(known).await);
        if send.send(counters.measured()).await.is_err() {
            return;
        }
        sleep(EVERY).await;
    }
}

async fn ask(urls: Vec<String>) -> BTreeMap<String, crate::counters::Shown> {
    let one = |url: String| async move {
        match scrape::fetch(&url).await {
            Ok(text) => Some((url, shown(&text))),
            Err(problem) => {
                tracing::debug!(url, problem, "reading the metrics of a proxy failed");
                None
            }
        }
    };
    stream::iter(urls)
        .map(one)
        .buffer_unordered(TOGETHER)
        .filter_map(std::future::ready)
        .collect()
        .await
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    #[tokio::test]
    async fn a_proxy_that_does_not_answer_spoils_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url =
            |listener: &TcpListener| format!("http://{}/metrics", listener.local_addr().unwrap());
        let (good, gone) = (url(&listener), {
            let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
            url(&other)
        });
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            let text = "evenkeel_service_connections_total{service=\"shop/web\",from_zone=\"a\",to_zone=\"b\"} 7\n";
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
            stream.write_all((head + text).as_bytes()).await.unwrap();
        });
        let read = ask(vec![gone, good.clone()]).await;
        assert_eq!(read.keys().collect::<Vec<_>>(), [&good]);
        assert_eq!(read[&good].values().sum::<u64>(), 7);
    }
}
