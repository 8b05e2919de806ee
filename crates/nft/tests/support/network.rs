//! Four network namespaces around a node, with servers that say who asked them.
//!
//! ```text
//!   outside ── out0 ┐             ┌ pod0 ── pod (a client, and an endpoint)
//!                   ├── node ─────┤
//!                   │  (a server) └ back0 ── backends (six addresses)
//! ```
//!
//! The namespaces have no names: they are gone with the process, however it ends.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::fd::{AsFd as _, AsRawFd as _},
    process::{Command, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    thread,
    time::Duration,
};

use evenkeel_model::{Backend, Protocol};
use evenkeel_nft::Family;
use rustix::{
    net as socket,
    thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space},
};

pub const SERVER_PORT: u16 = 8080;
/// Where the first of the backends listens too.
pub const SECOND_PORT: u16 = 8081;
const BACKENDS: u8 = 6;
static NEXT_PORT: AtomicU16 = AtomicU16::new(0);

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(File);

#[derive(Debug)]
pub struct Network {
    pub outside: Namespace,
    pub node: Namespace,
    pub pod: Namespace,
    backends: Namespace,
}

/// What a client saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// By whom it was answered, and what they took it for.
    Answer {
        from: Backend,
        client: IpAddr,
    },
    Refused,
    Nothing,
    Error(io::ErrorKind, String),
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn v4_or_v6(family: Family, v4: &str, v6: &str) -> IpAddr {
    ip(if family == Family::Ipv4 { v4 } else { v6 })
}

/// Addresses of the network.
pub mod at {
    use super::*;

    pub fn outside(family: Family) -> IpAddr {
        v4_or_v6(family, "192.168.77.2", "fd77::2")
    }

    pub fn node(family: Family) -> IpAddr {
        v4_or_v6(family, "192.168.77.1", "fd77::1")
    }

    /// An address of the node that is none for node ports.
    pub fn node_without_ports(family: Family) -> IpAddr {
        v4_or_v6(family, "192.168.77.3", "fd77::3")
    }

    pub fn pod(family: Family) -> IpAddr {
        v4_or_v6(family, "10.244.2.2", "fd00:244:2::2")
    }

    pub fn backend(family: Family, number: u8) -> IpAddr {
        v4_or_v6(family, &format!("10.244.3.{number}"), &format!("fd00:244:3::{number}"))
    }

    /// All of the node.
    pub fn of_node(family: Family) -> Vec<IpAddr> {
        let others = [("10.244.2.1", "fd00:244:2::1"), ("10.244.3.254", "fd00:244:3::254")];
        let others = others.map(|(v4, v6)| v4_or_v6(family, v4, v6));
        [node(family), node_without_ports(family)].into_iter().chain(others).collect()
    }

    /// All that a server listens at.
    pub fn endpoints(family: Family) -> Vec<Backend> {
        let ips = (1..=BACKENDS).map(|number| backend(family, number));
        let ips = ips.chain([pod(family), node(family)]);
        let second = Backend { ip: backend(family, 1), port: SECOND_PORT };
        ips.map(|ip| Backend { ip, port: SERVER_PORT }).chain([second]).collect()
    }
}

// === impl Namespace ===

impl Namespace {
    fn new() -> Namespace {
        let create = || {
            #[expect(deprecated, reason = "a new network namespace needs no care, unlike others")]
            rustix::thread::unshare(UnshareFlags::NEWNET).expect("to be root");
            Namespace(File::open("/proc/thread-self/ns/net").unwrap())
        };
        let namespace = thread::spawn(create).join().unwrap();
        namespace.run("ip link set lo up");
        namespace
    }

    /// Runs in this namespace, on a thread of its own. This takes some milliseconds.
    pub fn enter<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let inside = || {
                self.move_in();
                run()
            };
            scope.spawn(inside).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn move_in(&self) {
        move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
    }

    /// Runs these commands, one in a line.
    pub fn run(&self, commands: &str) {
        for command in commands.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut words = command.split_whitespace();
            self.feed(Command::new(words.next().unwrap()).args(words), "");
        }
    }

    /// Runs a command with this input and gives its output.
    pub fn feed(&self, command: &mut Command, input: &str) -> String {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.enter(move || {
            let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command:?}: {errors}\n{input}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    }

    /// Sets values under `/proc/sys/net`.
    pub fn set(&self, settings: &[(&str, &str)]) {
        self.enter(|| {
            for (name, value) in settings {
                fs::write(format!("/proc/sys/net/{name}"), value).unwrap();
            }
        });
    }

    /// A name that `ip link` takes.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

// === impl Network ===

impl Network {
    pub fn new() -> Network {
        let [outside, node, pod, backends] = [(); 4].map(|()| Namespace::new());
        for (device, peer) in [("out0", &outside), ("pod0", &pod), ("back0", &backends)] {
            let path = peer.path();
            node.run(&format!("ip link add {device} type veth peer name eth0 netns {path}"));
        }
        // A masqueraded connection may get the port of one that a server still remembers, while the
        // node's table of connections was emptied; then its client would have to connect twice.
        for namespace in [&node, &pod, &backends] {
            namespace.set(&[("ipv4/tcp_max_tw_buckets", "0")]);
        }
        node.set(&[
            ("ipv4/ip_forward", "1"),
            ("ipv6/conf/all/forwarding", "1"),
            ("ipv4/icmp_ratelimit", "0"),
            ("ipv4/icmp_msgs_per_sec", "100000"),
            ("ipv6/icmp/ratelimit", "0"),
        ]);
        configure(
            &node,
            "out0",
            &["192.168.77.1/24", "192.168.77.3/24", "fd77::1/64", "fd77::3/64"],
        );
        configure(&node, "pod0", &["10.244.2.1/24", "fd00:244:2::1/64"]);
        configure(&node, "back0", &["10.244.3.254/24", "fd00:244:3::254/64"]);
        // The node's own connections to Services need a route to start with.
        node.run("ip route add default via 192.168.77.2\nip -6 route add default via fd77::2");
        configure(&outside, "eth0", &["192.168.77.2/24", "fd77::2/64"]);
        outside.run("ip route add default via 192.168.77.1\nip -6 route add default via fd77::1");
        configure(&pod, "eth0", &["10.244.2.2/24", "fd00:244:2::2/64"]);
        pod.run("ip route add default via 10.244.2.1\nip -6 route add default via fd00:244:2::1");
        for number in 1..=BACKENDS {
            let ips = [Family::Ipv4, Family::Ipv6].map(|family| at::backend(family, number));
            let [v4, v6] = ips.map(|ip| ip.to_string());
            configure(&backends, "eth0", &[&format!("{v4}/24"), &format!("{v6}/64")]);
        }
        backends.run(
            "ip route add default via 10.244.3.254\nip -6 route add default via fd00:244:3::254",
        );
        let network = Network { outside, node, pod, backends };
        network.serve();
        network
    }

    fn serve(&self) {
        for family in Family::ALL {
            for endpoint in at::endpoints(family) {
                let namespace = match endpoint.ip {
                    ip if ip == at::pod(family) => &self.pod,
                    ip if ip == at::node(family) => &self.node,
                    _ => &self.backends,
                };
                let address = SocketAddr::new(endpoint.ip, endpoint.port);
                let (tcp, udp) = namespace.enter(move || {
                    (TcpListener::bind(address).unwrap(), UdpSocket::bind(address).unwrap())
                });
                thread::spawn(move || serve_tcp(&tcp));
                thread::spawn(move || serve_udp(&udp, address));
            }
        }
    }

    /// Replaces the rules of the node, and forgets its connections.
    pub fn load(&self, rules: &str) {
        self.node.feed(Command::new("nft").args(["-f", "-"]), rules);
        self.node.feed(Command::new("conntrack").arg("-F"), "");
    }
}

/// Asks once, from this address, in the namespace of the thread.
pub fn ask(protocol: Protocol, from: IpAddr, to: SocketAddr, patience: Duration) -> Seen {
    // Ports that the kernel chooses come again by chance, and are then of an old connection.
    let from = SocketAddr::new(from, 10_000 + NEXT_PORT.fetch_add(1, Ordering::Relaxed) % 50_000);
    Seen::new(match protocol {
        Protocol::Udp => ask_udp(from, to, patience),
        _ => ask_tcp(from, to, patience),
    })
}

fn configure(namespace: &Namespace, device: &str, addresses: &[&str]) {
    namespace.set(&[(&format!("ipv6/conf/{device}/accept_dad"), "0")]);
    for address in addresses {
        let nodad = if address.contains(':') { "nodad" } else { "" };
        namespace.run(&format!("ip addr add {address} dev {device} {nodad}"));
    }
    namespace.run(&format!("ip link set {device} up"));
}

fn serve_tcp(listener: &TcpListener) {
    for stream in listener.incoming() {
        let answer = |mut stream: TcpStream| {
            let (from, client) = (stream.local_addr()?, stream.peer_addr()?);
            write!(stream, "{from} {}", client.ip())
        };
        // A client that has gone is none of our business.
        let _ = stream.and_then(answer);
    }
}

fn serve_udp(socket: &UdpSocket, address: SocketAddr) {
    let mut question = [0; 16];
    loop {
        let answer = |(_, client): (usize, SocketAddr)| {
            socket.send_to(format!("{address} {}", client.ip()).as_bytes(), client)
        };
        let _ = socket.recv_from(&mut question).and_then(answer);
    }
}

fn ask_tcp(from: SocketAddr, to: SocketAddr, patience: Duration) -> io::Result<String> {
    let family =
        if to.is_ipv4() { socket::AddressFamily::INET } else { socket::AddressFamily::INET6 };
    let socket = socket::socket(family, socket::SocketType::STREAM, None)?;
    socket::bind(&socket, &from)?;
    // How long a connect may take, too.
    socket::sockopt::set_socket_timeout(&socket, socket::sockopt::Timeout::Send, Some(patience))?;
    socket::connect(&socket, &to)?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(patience.max(Duration::from_secs(2))))?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn ask_udp(from: SocketAddr, to: SocketAddr, patience: Duration) -> io::Result<String> {
    let socket = UdpSocket::bind(from)?;
    socket.set_read_timeout(Some(patience))?;
    socket.connect(to)?;
    // The node's own packets fail here when they are dropped; why is known with the answer.
    let _ = socket.send(b"?");
    let mut answer = [0; 128];
    let length = socket.recv(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

// === impl Seen ===

impl Seen {
    fn new(answer: io::Result<String>) -> Seen {
        match answer {
            Ok(answer) => {
                let (from, client) = answer.split_once(' ').unwrap_or_else(|| panic!("{answer:?}"));
                let from: SocketAddr = from.parse().unwrap();
                let from = Backend { ip: from.ip(), port: from.port() };
                Seen::Answer { from, client: client.parse().unwrap() }
            }
            Err(error) => match error.kind() {
                io::ErrorKind::ConnectionRefused => Seen::Refused,
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Seen::Nothing,
                // A connect that is out of time.
                _ if error.raw_os_error() == Some(115) => Seen::Nothing,
                kind => Seen::Error(kind, error.to_string()),
            },
        }
    }
}
