//! HTTP/1.1 over one TLS connection, with no more than the server's answers need: the load must cost
//! little beside the server.

use std::{net::SocketAddr, sync::Arc};

use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{Failure, server::TOKEN};

pub(crate) struct Connection {
    stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

/// A request with a body.
pub(crate) fn request(method: &str, path: &str, content: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: {content}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

impl Connection {
    pub(crate) async fn open(
        address: SocketAddr,
        tls: Arc<ClientConfig>,
    ) -> Result<Connection, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost")?;
        let stream = TlsConnector::from(tls).connect(name, stream).await?;
        Ok(Connection { stream, buffer: Vec::new() })
    }

    /// The body of the answer, its length told by the server.
    pub(crate) async fn get(&mut self, path: &str) -> Result<&[u8], Failure> {
        self.answer(&get(path)).await
    }

    /// Asks for an answer without an end, of which [`Connection::more`] reads on.
    pub(crate) async fn stream(&mut self, path: &str) -> Result<(), Failure> {
        self.send(&get(path)).await?;
        let head = self.head().await?;
        self.buffer.drain(..head.end);
        Ok(())
    }

    /// What came since, up to the last end of a line.
    pub(crate) async fn more(&mut self, mut each: impl FnMut(&[u8])) -> Result<(), Failure> {
        self.read().await?;
        let Some(end) = self.buffer.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        self.buffer.drain(..=end).as_slice().split(|byte| *byte == b'\n').for_each(&mut each);
        Ok(())
    }

    /// The body of the answer to a request as it goes over the wire.
    pub(crate) async fn answer(&mut self, request: &str) -> Result<&[u8], Failure> {
        self.send(request).await?;
        let head = self.head().await?;
        let all = head.end + head.length;
        self.buffer.reserve(all.saturating_sub(self.buffer.len()));
        while self.buffer.len() < all {
            self.read().await?;
        }
        Ok(&self.buffer[head.end..all])
    }

    async fn send(&mut self, request: &str) -> Result<(), Failure> {
        self.buffer.clear();
        self.stream.write_all(request.as_bytes()).await?;
        Ok(self.stream.flush().await?)
    }

    async fn head(&mut self) -> Result<Head, Failure> {
        loop {
            let end = self.buffer.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                return Head::read(std::str::from_utf8(&self.buffer[..end])?, end + 4);
            }
            self.read().await?;
        }
    }

    async fn read(&mut self) -> Result<(), Failure> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err("the server has closed the connection".into()),
            _ => Ok(()),
        }
    }
}

struct Head {
    /// Where the body begins.
    end: usize,
    length: usize,
}

impl Head {
    fn read(text: &str, end: usize) -> Result<Head, Failure> {
        if !text.starts_with("HTTP/1.1 2") {
            return Err(format!("the server answered {text}").into());
        }
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        Ok(Head { end, length: length.map(str::parse).transpose()?.unwrap_or_default() })
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n")
}
