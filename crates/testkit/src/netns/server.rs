//! Servers that answer with who they are.

use std::{
    io::{self, Read as _, Write as _},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::net::{
    AddressFamily, Shutdown, SocketFlags, SocketType, bind, ipproto, listen, shutdown, socket_with,
};

use super::{Namespace, client::Answer, pod::Identity};

/// How long a connection may be idle.
const IDLE: Duration = Duration::from_secs(30);

/// How often a UDP server looks whether it is stopped, if nothing wakes it.
const LOOK: Duration = Duration::from_millis(200);

/// Connections are many and short, and need little.
const STACK: usize = 64 * 1024;

const BACKLOG: i32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// HTTP/1.1 over TCP.
    Http(u16),
    /// One datagram for each.
    Udp(u16),
    /// HTTP/1.1 over SCTP, where the kernel has it ([`has_sctp`]).
    Sctp(u16),
}

/// Servers of a Pod. They stop when this is dropped; open connections end on their own.
#[derive(Debug)]
pub struct Server {
    stop: Arc<AtomicBool>,
    sockets: Vec<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
}

/// Whether the kernel has SCTP.
pub fn has_sctp() -> bool {
    let protocol = Some(ipproto::SCTP);
    socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, protocol).is_ok()
}

// === impl Server ===

impl Server {
    pub(super) fn start(
        namespace: &Namespace,
        identity: &Identity,
        addresses: &[IpAddr],
        ports: &[Port],
    ) -> Server {
        let mut server = Server { stop: Arc::default(), sockets: vec![], threads: vec![] };
        for &port in ports {
            for &address in addresses {
                let started = server.listen(namespace, identity, address, port);
                started.unwrap_or_else(|error| {
                    panic!("{}: {address} {port:?}: {error}", identity.pod)
                });
            }
        }
        server
    }

    fn listen(
        &mut self,
        namespace: &Namespace,
        identity: &Identity,
        address: IpAddr,
        port: Port,
    ) -> io::Result<()> {
        let (identity, stop) = (identity.clone(), Arc::clone(&self.stop));
        let listener = match port {
            Port::Udp(port) => {
                let socket = namespace.run(|| UdpSocket::bind((address, port)))?;
                socket.set_read_timeout(Some(LOOK))?;
                self.sockets.push(socket.try_clone()?.into());
                self.threads
                    .push(thread::spawn(move || answer_datagrams(&socket, &identity, &stop)));
                return Ok(());
            }
            Port::Http(port) => namespace.run(|| TcpListener::bind((address, port)))?,
            Port::Sctp(port) => namespace.run(|| sctp((address, port).into()))?.into(),
        };
        // The standard library's queue is 128, too short for a thousand connections a second.
        listen(&listener, BACKLOG)?;
        self.sockets.push(listener.try_clone()?.into());
        self.threads.push(thread::spawn(move || accept(&listener, &identity, &stop)));
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for socket in &self.sockets {
            // Wakes `accept` and `recv_from`, though a datagram socket is not connected.
            let _ = shutdown(socket, Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn sctp(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol = Some(ipproto::SCTP);
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, protocol)?;
    bind(&socket, &address)?;
    Ok(socket)
}

fn accept(listener: &TcpListener, identity: &Identity, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let Ok((stream, client)) = listener.accept() else { continue };
        let text = format!("{}\n", Answer::new(identity, client));
        let thread = thread::Builder::new().stack_size(STACK);
        // The client sees a closed connection.
        let _ = thread.spawn(move || answer_requests(stream, &text));
    }
}

/// Answers every request of a connection; requests have no body.
fn answer_requests(mut stream: TcpStream, text: &str) {
    let _ = stream.set_read_timeout(Some(IDLE));
    let _ = stream.set_nodelay(true);
    let (mut read, mut buffer) = (Vec::new(), [0; 1024]);
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        read.extend_from_slice(&buffer[..n]);
        while let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
            let is_last = head.contains("connection: close");
            read.drain(..end + 4);
            if stream.write_all(response(text, is_last).as_bytes()).is_err() || is_last {
                return;
            }
        }
    }
}

fn response(text: &str, is_last: bool) -> String {
    let end = if is_last { "Connection: close\r\n" } else { "" };
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{end}\r\n{text}",
        text.len()
    )
}

fn answer_datagrams(socket: &UdpSocket, identity: &Identity, stop: &AtomicBool) {
    let mut buffer = [0; 512];
    while !stop.load(Ordering::Relaxed) {
        if let Ok((_, client)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(Answer::new(identity, client).to_string().as_bytes(), client);
        }
    }
}
