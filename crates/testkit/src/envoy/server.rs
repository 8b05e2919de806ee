//! Servers that answer with their name and count what they were asked.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

/// Connections are many, and need little.
const STACK: usize = 128 * 1024;

/// A server with a loopback address of its own. It stops when this is dropped, with its connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    stop: AtomicBool,
    answered: AtomicUsize,
    /// Of HTTP.
    status: AtomicU16,
    connections: Mutex<BTreeMap<usize, TcpStream>>,
}

// === impl Server ===

impl Server {
    /// HTTP/1.1: the name is the body of every answer.
    pub fn http(name: &str) -> Server {
        Server::start(name, Shared::answer_http)
    }

    /// TCP: each connection is sent the name and a newline, and is then closed.
    pub fn tcp(name: &str) -> Server {
        Server::start(name, Shared::answer_tcp)
    }

    /// 127.x.y.z with a port of the kernel's choice.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Requests of HTTP or connections of TCP so far.
    pub fn answered(&self) -> usize {
        self.shared.answered.load(Ordering::Relaxed)
    }

    /// From now on, HTTP requests are answered with this status.
    pub fn answer_with(&self, status: u16) {
        self.shared.status.store(status, Ordering::Relaxed);
    }

    fn start(name: &str, answer: fn(&Shared, TcpStream)) -> Server {
        let listener = TcpListener::bind((loopback(), 0)).expect("loopback addresses can be bound");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            stop: AtomicBool::new(false),
            answered: AtomicUsize::new(0),
            status: AtomicU16::new(200),
            connections: Mutex::default(),
        });
        let thread = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared, answer)
        });
        Server { address, shared, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes `accept`.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for connection in self.shared.connections().values() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

/// The next address of this process. Other processes may use the same; ports keep them apart.
fn loopback() -> IpAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let [_, _, high, low] = (n % 64_000 + 1).to_be_bytes();
    let [.., own] = process::id().to_be_bytes();
    Ipv4Addr::new(127, own.max(1), high, low.clamp(1, 254)).into()
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, answer: fn(&Shared, TcpStream)) {
    for number in 0.. {
        let Ok((stream, _)) = listener.accept() else { continue };
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(copy) = stream.try_clone() else { continue };
        shared.connections().insert(number, copy);
        let shared = Arc::clone(shared);
        let connection = thread::Builder::new().stack_size(STACK).spawn(move || {
            answer(&shared, stream);
            shared.connections().remove(&number);
        });
        // Without a thread the client sees a closed connection.
        drop(connection);
    }
}

// === impl Shared ===

impl Shared {
    fn connections(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, TcpStream>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers every request of a connection; requests have no body.
    fn answer_http(&self, mut stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(n @ 1..) = stream.read(&mut buffer) {
            read.extend_from_slice(&buffer[..n]);
            while let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
                read.drain(..end + 4);
                self.answered.fetch_add(1, Ordering::Relaxed);
                let (status, name) = (self.status.load(Ordering::Relaxed), &self.name);
                let length = name.len();
                let answer = format!(
                    "HTTP/1.1 {status} Status\r\nContent-Type: text/plain\r\n\
                     Content-Length: {length}\r\n\r\n{name}"
                );
                if stream.write_all(answer.as_bytes()).is_err() {
                    return;
                }
            }
        }
    }

    fn answer_tcp(&self, mut stream: TcpStream) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        if stream.write_all(format!("{}\n", self.name).as_bytes()).is_ok() {
            let _ = stream.shutdown(Shutdown::Write);
            // Waits for the other side, so that the name isn't lost in a reset.
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
}
