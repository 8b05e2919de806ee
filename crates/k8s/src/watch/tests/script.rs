//! A server that gives prepared answers, one to each request in turn. After the last it is gone.

use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
};

pub(super) struct Script {
    uri: String,
    paths: mpsc::UnboundedReceiver<String>,
    asked: Vec<String>,
    task: JoinHandle<()>,
}

#[derive(Clone, Debug)]
pub(super) struct Answer {
    code: u16,
    text: String,
    /// Whether the connection stays open after that.
    is_held: bool,
}

impl Script {
    pub(super) async fn start(answers: Vec<Answer>) -> Script {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}", listener.local_addr().unwrap());
        let (send, paths) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut held = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let path = path(&mut stream).await;
                stream.write_all(answer.bytes().as_bytes()).await.unwrap();
                if answer.is_held {
                    held.push(stream);
                }
                let _ = send.send(path);
            }
            drop(listener);
            std::future::pending::<()>().await;
        });
        Script { uri, paths, asked: Vec::new(), task }
    }

    pub(super) fn client(&self) -> Client {
        let mut config = Config::new(self.uri.parse().unwrap());
        config.default_retry = false;
        Client::try_from(config).unwrap()
    }

    /// Waits for that many requests in all, and gives their paths.
    pub(super) async fn asked(&mut self, n: usize) -> Vec<String> {
        while self.asked.len() < n {
            self.asked.push(self.paths.recv().await.unwrap());
        }
        self.asked.clone()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Of the request that comes.
async fn path(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    head.split(' ').nth(1).unwrap().to_owned()
}

// === impl Answer ===

impl Answer {
    /// The request is taken, and that is all.
    pub(super) fn never() -> Answer {
        Answer { code: 0, text: String::new(), is_held: true }
    }

    /// An object or a list.
    pub(super) fn of(text: String) -> Answer {
        answer(200, text)
    }

    pub(super) fn hold(mut self) -> Answer {
        self.is_held = true;
        self
    }

    pub(super) fn close(mut self) -> Answer {
        self.is_held = false;
        self
    }

    fn bytes(&self) -> String {
        match self.code {
            0 => String::new(),
            code => format!("HTTP/1.1 {code} X\r\nconnection: close\r\n\r\n{}", self.text),
        }
    }
}

fn answer(code: u16, text: String) -> Answer {
    Answer { code, text, is_held: false }
}

fn node(name: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "uid": format!("{name}-uid"), "resourceVersion": version}})
}

pub(super) fn listed(names: &[&str], version: &str, token: &str) -> Answer {
    let items: Vec<_> = names.iter().map(|name| node(name, "1")).collect();
    let metadata = json!({"resourceVersion": version, "continue": token});
    answer(200, json!({"metadata": metadata, "items": items}).to_string())
}

pub(super) fn end_of_list(version: &str) -> Answer {
    listed(&[], version, "")
}

pub(super) fn watch_of(lines: &[Value]) -> Answer {
    answer(200, lines.iter().map(|line| format!("{line}\n")).collect())
}

pub(super) fn changed(kind: &str, name: &str, version: &str) -> Value {
    json!({"type": kind, "object": node(name, version)})
}

pub(super) fn bookmark(version: &str) -> Value {
    let metadata = json!({"resourceVersion": version});
    let object = json!({"kind": "Node", "apiVersion": "v1", "metadata": metadata});
    json!({"type": "BOOKMARK", "object": object})
}

pub(super) fn forbidden() -> Answer {
    let status = json!({"kind": "Status", "status": "Failure", "reason": "Forbidden",
        "message": "nodes is forbidden", "code": 403});
    answer(403, status.to_string())
}

/// As kube-apiserver answers for a kind that it does not have.
pub(super) fn not_found() -> Answer {
    answer(404, "404 page not found\n".to_owned())
}
