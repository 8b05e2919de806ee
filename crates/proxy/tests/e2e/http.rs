//! Plain HTTP, for what is not an answer of a Pod.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

/// The status and the whole answer.
pub(crate) fn get(mut stream: TcpStream, path: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_default(), text)
}
