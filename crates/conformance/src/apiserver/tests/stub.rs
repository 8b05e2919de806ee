//! A server that knows its lines: it answers each connection with the next of its answers.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread::{self, JoinHandle},
};

use crate::apiserver::{http::Target, server::Server};

/// Starts the stub. When all answers are given, it yields the requests that it got.
pub(super) fn stub(answers: Vec<String>) -> (Server, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let played = thread::spawn(move || {
        let answer = |answer: &String| {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let request = read_request(&mut reader);
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
            request
        };
        answers.iter().map(answer).collect()
    });
    let target = Target { address, host: address.to_string(), tls: None };
    (Server { target, token: "secret".to_owned(), compact: None, running: None }, played)
}

fn read_request(from: &mut impl BufRead) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(from.read_line(&mut head).unwrap() > 0, "a request that does not end");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    from.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

/// An answer in one piece, with these lines in its head.
pub(super) fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} Any\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

/// An answer in chunks; the last is left out if the stream is to break off.
pub(super) fn chunked(headers: &str, chunks: &[&str]) -> String {
    let chunks = chunks.iter().map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    let body: String = chunks.collect();
    format!("HTTP/1.1 200 OK\r\n{headers}Transfer-Encoding: chunked\r\n\r\n{body}")
}
