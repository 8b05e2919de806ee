//! An HTTP/1.1 client that sends a request line and headers exactly as given.
//!
//! Libraries clean paths and add headers; here double slashes, dot segments and a missing
//! `User-Agent` are under test. Each request has its own connection.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use rustls::{ClientConfig, ClientConnection, StreamOwned, pki_types::ServerName};

/// Longer than any server takes to respond.
const PATIENCE: Duration = Duration::from_secs(70);

/// The address of a server, and how to connect.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// The name in the `Host` header and in the certificate.
    pub(crate) host: String,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

/// The raw request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

/// The head of a response, and its body to be read.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    body: Body,
    /// The start of a chunk header.
    line: Vec<u8>,
    from: BufReader<Connection>,
}

enum Connection {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// The rest of a body.
enum Body {
    /// This many bytes.
    Length(u64),
    /// This many bytes of this chunk, then others.
    Chunked(u64),
    /// Everything until the connection closes.
    Open,
}

/// Sends a request and reads the head of its response.
pub(crate) fn send(target: &Target, message: &Message) -> io::Result<Answer> {
    over(BufReader::new(connect(target)?), target, message, "close")
}

/// Sends requests one after the other over one connection, and returns their status codes.
pub(crate) fn send_each(
    target: &Target,
    messages: impl Iterator<Item = Message>,
) -> io::Result<Vec<u16>> {
    let mut connection = BufReader::new(connect(target)?);
    let mut codes = Vec::new();
    for message in messages {
        let mut answer = over(connection, target, &message, "keep-alive")?;
        answer.read_all()?;
        codes.push(answer.status);
        connection = answer.from;
    }
    Ok(codes)
}

fn over(
    mut connection: BufReader<Connection>,
    target: &Target,
    message: &Message,
    then: &str,
) -> io::Result<Answer> {
    let mut head = format!("{} {} HTTP/1.1\r\n", message.method, message.target);
    head.push_str(&format!("Host: {}\r\nConnection: {then}\r\n", target.host));
    for (name, value) in &message.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = &message.body {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(message.body.as_deref().unwrap_or_default());
    // A server may respond and close before it has read a body that is too long.
    let to = connection.get_mut();
    let sent = to.write_all(&bytes).and_then(|()| to.flush());
    let mut from = connection;
    let (status, headers) = read_head(&mut from).map_err(|read| sent.err().unwrap_or(read))?;
    let body = if message.method == "HEAD" { Body::Length(0) } else { body_of(status, &headers) };
    Ok(Answer { status, headers, body, line: Vec::new(), from })
}

fn connect(target: &Target) -> io::Result<Connection> {
    let stream = TcpStream::connect_timeout(&target.address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let Some(config) = &target.tls else { return Ok(Connection::Plain(stream)) };
    let name = target.host.rsplit_once(':').map_or(target.host.as_str(), |(name, _)| name);
    let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
    let session = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    Ok(Connection::Tls(Box::new(StreamOwned::new(session, stream))))
}

fn read_head(from: &mut BufReader<Connection>) -> io::Result<(u16, Vec<(String, String)>)> {
    let first = read_line(from)?;
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| malformed(&format!("status line {first:?}")))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(from)?;
        if line.is_empty() {
            // An interim response precedes the real one.
            if status == 100 {
                return read_head(from);
            }
            return Ok((status, headers));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed(&line))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn body_of(status: u16, headers: &[(String, String)]) -> Body {
    if status == 204 || status == 304 {
        return Body::Length(0);
    }
    if header(headers, "transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
        return Body::Chunked(0);
    }
    match header(headers, "content-length").and_then(|length| length.parse().ok()) {
        Some(length) => Body::Length(length),
        None => Body::Open,
    }
}

fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP: {what}"))
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The whole body.
    pub(crate) fn read_all(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        while self.read_more(&mut all)? {}
        Ok(all)
    }

    /// Appends received bytes; waits for some until `limit`. False at the end of the body.
    pub(crate) fn read_within(&mut self, limit: Duration, into: &mut Vec<u8>) -> io::Result<bool> {
        let limit = limit.max(Duration::from_millis(1));
        self.from.get_ref().stream().set_read_timeout(Some(limit))?;
        self.read_more(into)
    }

    fn read_more(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let left = match &mut self.body {
            Body::Length(left) => left,
            Body::Chunked(left) => {
                if *left == 0 {
                    *left = next_chunk(&mut self.from, &mut self.line)?;
                }
                left
            }
            Body::Open => return Ok(append(&mut self.from, u64::MAX, into)? > 0),
        };
        if *left == 0 {
            // The last chunk is reported once; afterwards the body is empty.
            self.body = Body::Length(0);
            return Ok(false);
        }
        let n = append(&mut self.from, *left, into)?;
        *left -= n;
        if n == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(true) }
    }
}

/// Reads the size of the next chunk; zero if it is the last. `line` keeps a partial header on
/// timeout.
fn next_chunk(from: &mut BufReader<Connection>, line: &mut Vec<u8>) -> io::Result<u64> {
    loop {
        if from.read_until(b'\n', line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8_lossy(line).trim().to_owned();
        line.clear();
        if text.is_empty() {
            continue;
        }
        let digits = text.split(';').next().unwrap_or_default().trim();
        return u64::from_str_radix(digits, 16).map_err(|_| malformed(&text));
    }
}

fn append(from: &mut BufReader<Connection>, limit: u64, into: &mut Vec<u8>) -> io::Result<u64> {
    let ready = from.fill_buf()?;
    let n = ready.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
    into.extend_from_slice(&ready[..n]);
    from.consume(n);
    Ok(n as u64)
}

impl Connection {
    fn stream(&self) -> &TcpStream {
        match self {
            Connection::Plain(stream) => stream,
            Connection::Tls(tls) => tls.get_ref(),
        }
    }
}

impl Read for Connection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Connection::Plain(stream) => stream.read(into),
            Connection::Tls(tls) => tls.read(into),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Connection::Plain(stream) => stream.write(bytes),
            Connection::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Connection::Plain(stream) => stream.flush(),
            Connection::Tls(tls) => tls.flush(),
        }
    }
}
