//! A scripted server: it answers each connection with the next of its responses.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread::{self, JoinHandle},
};

use crate::apiserver::{http::Target, server::Server};

/// Starts the stub. After the last response it returns the received requests.
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

/// A response with a fixed length and these headers.
pub(super) fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} Any\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

/// A chunked response; the last chunk is omitted if the stream is to be truncated.
pub(super) fn chunked(headers: &str, chunks: &[&str]) -> String {
    let chunks = chunks.iter().map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    let body: String = chunks.collect();
    format!("HTTP/1.1 200 OK\r\n{headers}Transfer-Encoding: chunked\r\n\r\n{body}")
}
