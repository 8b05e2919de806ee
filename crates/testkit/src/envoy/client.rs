//! Clients: one request after the other, on one connection or on many, and who answered them.

use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// For each step of a request.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A number of equal requests.
#[derive(Clone, Debug)]
pub struct Requests {
    n: usize,
    kept_alive: bool,
    path: String,
    host: String,
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Successful answers, by the name of the server.
    pub by_server: BTreeMap<String, usize>,
    /// Answers by status, the successful ones too. Empty for TCP.
    pub by_status: BTreeMap<u16, usize>,
    /// Requests without an answer.
    pub failures: Vec<String>,
}

/// One GET on a connection of its own: status and body.
pub fn get(to: SocketAddr, path: &str) -> io::Result<(u16, String)> {
    let mut connection = Connection::open(to)?;
    connection.get("localhost", path, false)
}

struct Connection(BufReader<TcpStream>);

// === impl Requests ===

impl Requests {
    /// `n` requests for `/`, each on a new connection.
    pub fn new(n: usize) -> Requests {
        Requests { n, kept_alive: false, path: "/".to_owned(), host: "localhost".to_owned() }
    }

    /// All on one connection, or on as many as the other side makes necessary.
    #[must_use]
    pub fn kept_alive(self) -> Requests {
        Requests { kept_alive: true, ..self }
    }

    #[must_use]
    pub fn path(self, path: &str) -> Requests {
        Requests { path: path.to_owned(), ..self }
    }

    #[must_use]
    pub fn host(self, host: &str) -> Requests {
        Requests { host: host.to_owned(), ..self }
    }

    /// Sends them with HTTP/1.1.
    pub fn http(&self, to: SocketAddr) -> Answers {
        let mut answers = Answers::default();
        let mut kept = None;
        for _ in 0..self.n {
            let connection = kept.take().map_or_else(|| Connection::open(to), Ok);
            let outcome = connection.and_then(|mut connection| {
                let answer = connection.get(&self.host, &self.path, self.kept_alive)?;
                kept = Some(connection).filter(|_| self.kept_alive);
                Ok(answer)
            });
            answers.count(outcome);
        }
        answers
    }

    /// Opens connections and reads who is at their other end.
    pub fn tcp(&self, to: SocketAddr) -> Answers {
        let mut answers = Answers::default();
        for _ in 0..self.n {
            match read_name(to) {
                Ok(name) => *answers.by_server.entry(name).or_default() += 1,
                Err(error) => answers.failures.push(error.to_string()),
            }
        }
        answers
    }
}

fn read_name(to: SocketAddr) -> io::Result<String> {
    let mut name = String::new();
    Connection::open(to)?.0.read_line(&mut name)?;
    if name.ends_with('\n') {
        return Ok(name.trim_end().to_owned());
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed before a name came"))
}

// === impl Answers ===

impl Answers {
    pub fn total(&self) -> usize {
        let answered: usize = match self.by_status.is_empty() {
            true => self.by_server.values().sum(),
            false => self.by_status.values().sum(),
        };
        answered + self.failures.len()
    }

    /// The part of all requests that this server answered.
    pub fn share(&self, server: &str) -> f64 {
        self.part(self.by_server.get(server))
    }

    /// The part of all requests that had this status.
    pub fn share_of_status(&self, status: u16) -> f64 {
        self.part(self.by_status.get(&status))
    }

    fn part(&self, n: Option<&usize>) -> f64 {
        n.copied().unwrap_or(0) as f64 / self.total().max(1) as f64
    }

    fn count(&mut self, outcome: io::Result<(u16, String)>) {
        match outcome {
            Ok((status, body)) => {
                *self.by_status.entry(status).or_default() += 1;
                if status == 200 {
                    *self.by_server.entry(body.trim_end().to_owned()).or_default() += 1;
                }
            }
            Err(error) => self.failures.push(error.to_string()),
        }
    }
}

// === impl Connection ===

impl Connection {
    fn open(to: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect_timeout(&to, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Connection(BufReader::new(stream)))
    }

    fn get(&mut self, host: &str, path: &str, kept_alive: bool) -> io::Result<(u16, String)> {
        let end = if kept_alive { "" } else { "Connection: close\r\n" };
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{end}\r\n");
        self.0.get_mut().write_all(request.as_bytes())?;
        self.response()
    }

    fn response(&mut self) -> io::Result<(u16, String)> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| invalid(format!("no status in {first:?}")))?;
        let (mut length, mut chunked) = (None, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            match line.split_once(':') {
                None => break,
                Some(("content-length", value)) => length = value.trim().parse().ok(),
                Some(("transfer-encoding", value)) => chunked = value.trim() == "chunked",
                Some(_) => {}
            }
        }
        let body = match (chunked, length) {
            (true, _) => self.chunks()?,
            (false, Some(length)) => self.bytes(length)?,
            (false, None) => self.rest()?,
        };
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// Without its end; an empty one ends a head.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed within a response"));
        }
        Ok(line.trim_end().to_owned())
    }

    fn bytes(&mut self, n: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; n];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let n = usize::from_str_radix(&line, 16).map_err(|e| invalid(e.to_string()))?;
            body.extend(self.bytes(n)?);
            self.line()?;
            if n == 0 {
                return Ok(body);
            }
        }
    }

    fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        self.0.read_to_end(&mut body)?;
        Ok(body)
    }
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}
