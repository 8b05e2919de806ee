//! Clients: one request per new connection, many in a row, and connections that stay.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Read as _, Write as _},
    net::{IpAddr, SocketAddr, TcpStream, UdpSocket},
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket_with,
        sockopt::{self, Timeout},
    },
};

use super::{Namespace, pod::Identity};

/// How long a client waits for each step, unless told otherwise.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Threads of a [`Load`].
const WORKERS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Http,
    Udp,
    /// HTTP over SCTP.
    Sctp,
}

/// Who answered, and which client address it saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub pod: String,
    pub node: String,
    pub zone: String,
    pub client: SocketAddr,
}

/// Why there was no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    Refused,
    TimedOut,
    Unreachable,
    /// The connection was closed before the answer was complete.
    Closed,
    Other(String),
}

/// The outcome of many requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub answers: Vec<Answer>,
    pub failures: Vec<Failure>,
}

/// A client in a namespace.
#[derive(Clone, Debug)]
pub struct Client {
    namespace: Namespace,
    source: Option<IpAddr>,
    timeout: Duration,
}

/// A connection, or a UDP socket with one port, for many requests.
#[derive(Debug)]
pub struct Flow(Socket);

/// Requests at a constant rate, each on a new connection, until it is stopped.
#[derive(Debug)]
pub struct Load {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    workers: Vec<JoinHandle<Tally>>,
}

#[derive(Debug)]
enum Socket {
    Http(TcpStream),
    Udp(UdpSocket),
}

// === impl Namespace ===

impl Namespace {
    /// A client inside.
    pub fn client(&self) -> Client {
        Client { namespace: self.clone(), source: None, timeout: TIMEOUT }
    }

    /// A client inside that sends from this address.
    pub fn from(&self, source: IpAddr) -> Client {
        Client { source: Some(source), ..self.client() }
    }

    pub fn http(&self, to: SocketAddr) -> Result<Answer, Failure> {
        self.client().http(to)
    }

    pub fn udp(&self, to: SocketAddr) -> Result<Answer, Failure> {
        self.client().udp(to)
    }

    pub fn http_many(&self, to: SocketAddr, n: usize) -> Tally {
        self.client().many(Protocol::Http, to, n)
    }

    pub fn udp_many(&self, to: SocketAddr, n: usize) -> Tally {
        self.client().many(Protocol::Udp, to, n)
    }

    pub fn flow(&self, protocol: Protocol, to: SocketAddr) -> Result<Flow, Failure> {
        self.client().flow(protocol, to)
    }

    pub fn load(&self, protocol: Protocol, to: SocketAddr, per_second: u32) -> Load {
        self.client().load(protocol, to, per_second)
    }
}

// === impl Client ===

impl Client {
    /// How long it waits for a connection, and then for the answer.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Client {
        Client { timeout, ..self }
    }

    pub fn http(&self, to: SocketAddr) -> Result<Answer, Failure> {
        self.request(Protocol::Http, to)
    }

    pub fn udp(&self, to: SocketAddr) -> Result<Answer, Failure> {
        self.request(Protocol::Udp, to)
    }

    /// One request on a new connection.
    pub fn request(&self, protocol: Protocol, to: SocketAddr) -> Result<Answer, Failure> {
        self.namespace.run(|| self.ask_once(protocol, to))
    }

    /// One request after the other, each on a new connection.
    pub fn many(&self, protocol: Protocol, to: SocketAddr, n: usize) -> Tally {
        self.namespace.run(|| (0..n).map(|_| self.ask_once(protocol, to)).collect())
    }

    pub fn flow(&self, protocol: Protocol, to: SocketAddr) -> Result<Flow, Failure> {
        self.namespace.run(|| self.open(protocol, to)).map_err(Failure::from)
    }

    /// Each of a few threads sends its part of the requests. A request that is answered late delays
    /// the next one of its thread, and those it missed follow at once.
    pub fn load(&self, protocol: Protocol, to: SocketAddr, per_second: u32) -> Load {
        let (stop, answered) = (Arc::default(), Arc::default());
        let pause = Duration::from_secs(1) * WORKERS as u32 / per_second.max(1);
        let workers = (0..WORKERS).map(|number| {
            let (client, stop) = (self.clone(), Arc::clone(&stop));
            let answered = Arc::clone(&answered);
            let offset = pause * number as u32 / WORKERS as u32;
            thread::spawn(move || {
                client.keep_asking(protocol, to, (offset, pause), &stop, &answered)
            })
        });
        let workers = workers.collect();
        Load { stop, answered, workers }
    }

    fn keep_asking(
        &self,
        protocol: Protocol,
        to: SocketAddr,
        (offset, pause): (Duration, Duration),
        stop: &AtomicBool,
        answered: &AtomicUsize,
    ) -> Tally {
        self.namespace.enter().expect("the namespace exists, and tests run as root");
        let (mut tally, mut due) = (Vec::new(), Instant::now() + offset);
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            tally.push(self.ask_once(protocol, to));
            answered.fetch_add(1, Ordering::Relaxed);
            due += pause;
        }
        tally.into_iter().collect()
    }

    fn ask_once(&self, protocol: Protocol, to: SocketAddr) -> Result<Answer, Failure> {
        let mut flow = self.open(protocol, to)?;
        flow.0.ask(true)
    }

    /// Called on a thread inside the namespace.
    fn open(&self, protocol: Protocol, to: SocketAddr) -> io::Result<Flow> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let (kind, protocol_number) = match protocol {
            Protocol::Http => (SocketType::STREAM, ipproto::TCP),
            Protocol::Udp => (SocketType::DGRAM, ipproto::UDP),
            Protocol::Sctp => (SocketType::STREAM, ipproto::SCTP),
        };
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol_number))?;
        // Also bounds `connect`.
        sockopt::set_socket_timeout(&socket, Timeout::Send, Some(self.timeout))?;
        sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(self.timeout))?;
        if let Some(source) = self.source {
            bind(&socket, &SocketAddr::new(source, 0))?;
        }
        connect(&socket, &to)?;
        Ok(Flow(match protocol {
            Protocol::Udp => Socket::Udp(socket.into()),
            Protocol::Http | Protocol::Sctp => Socket::Http(socket.into()),
        }))
    }
}

// === impl Flow ===

impl Flow {
    /// Another request on the same connection.
    pub fn ask(&mut self) -> Result<Answer, Failure> {
        self.0.ask(false)
    }
}

impl Socket {
    fn ask(&mut self, is_last: bool) -> Result<Answer, Failure> {
        let text = match self {
            Socket::Http(stream) => {
                let end = if is_last { "Connection: close\r\n" } else { "" };
                stream
                    .write_all(format!("GET / HTTP/1.1\r\nHost: test\r\n{end}\r\n").as_bytes())?;
                body(stream)?
            }
            Socket::Udp(socket) => {
                socket.send(b"?")?;
                let mut buffer = [0; 512];
                let n = socket.recv(&mut buffer)?;
                String::from_utf8_lossy(&buffer[..n]).into_owned()
            }
        };
        text.trim_end().parse()
    }
}

/// Reads one response whose head has a `Content-Length`, and gives its body.
fn body(stream: &mut TcpStream) -> Result<String, Failure> {
    let (mut read, mut buffer) = (Vec::new(), [0; 1024]);
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            return Err(Failure::Closed);
        }
        read.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&read);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.and_then(|length| length.parse().ok());
        if body.len() >= length.ok_or_else(|| Failure::Other(format!("no length in {head}")))? {
            return Ok(body.to_owned());
        }
    }
}

// === impl Load ===

impl Load {
    /// Requests that had their outcome so far.
    pub fn so_far(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }

    /// Waits until there are this many more outcomes.
    pub fn wait_for(&self, n: usize) {
        let begun = Instant::now();
        let enough = self.so_far() + n;
        while self.so_far() < enough {
            assert!(begun.elapsed() < Duration::from_secs(120), "the load has stalled");
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn stop_after(self, n: usize) -> Tally {
        self.wait_for(n);
        self.stop()
    }

    pub fn stop(mut self) -> Tally {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Tally::default();
        for worker in std::mem::take(&mut self.workers) {
            let Tally { answers, failures } = worker.join().expect("a worker does not panic");
            all.answers.extend(answers);
            all.failures.extend(failures);
        }
        all
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

// === impl Tally ===

impl Tally {
    /// Answers of each Pod.
    pub fn by_pod(&self) -> BTreeMap<&str, usize> {
        self.by(|answer| &answer.pod)
    }

    pub fn by_node(&self) -> BTreeMap<&str, usize> {
        self.by(|answer| &answer.node)
    }

    pub fn by_zone(&self) -> BTreeMap<&str, usize> {
        self.by(|answer| &answer.zone)
    }

    fn by(&self, key: fn(&Answer) -> &String) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for answer in &self.answers {
            *counts.entry(key(answer).as_str()).or_default() += 1;
        }
        counts
    }
}

impl FromIterator<Result<Answer, Failure>> for Tally {
    fn from_iter<T: IntoIterator<Item = Result<Answer, Failure>>>(outcomes: T) -> Tally {
        let mut tally = Tally::default();
        for outcome in outcomes {
            match outcome {
                Ok(answer) => tally.answers.push(answer),
                Err(failure) => tally.failures.push(failure),
            }
        }
        tally
    }
}

// === impl Answer ===

impl Answer {
    pub(super) fn new(identity: &Identity, client: SocketAddr) -> Answer {
        let Identity { pod, node, zone } = identity.clone();
        Answer { pod, node, zone, client }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { pod, node, zone, client } = self;
        write!(f, "{pod} {node} {zone} {client}")
    }
}

impl FromStr for Answer {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Answer, Failure> {
        let wrong = || Failure::Other(format!("not an answer: {text:?}"));
        let parts: Vec<&str> = text.split(' ').collect();
        let [pod, node, zone, client] = parts.as_slice() else { return Err(wrong()) };
        let client = client.parse().map_err(|_| wrong())?;
        Ok(Answer { pod: (*pod).into(), node: (*node).into(), zone: (*zone).into(), client })
    }
}

// === impl Failure ===

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        use io::ErrorKind as Kind;

        if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) {
            // A blocking `connect` whose time is over.
            return Failure::TimedOut;
        }
        match error.kind() {
            Kind::ConnectionRefused => Failure::Refused,
            Kind::TimedOut | Kind::WouldBlock => Failure::TimedOut,
            Kind::HostUnreachable | Kind::NetworkUnreachable => Failure::Unreachable,
            Kind::ConnectionReset | Kind::BrokenPipe => Failure::Closed,
            _ => Failure::Other(error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Refused => "connection refused",
            Failure::TimedOut => "timed out",
            Failure::Unreachable => "unreachable",
            Failure::Closed => "connection closed",
            Failure::Other(problem) => problem,
        })
    }
}
