//! New connections each second through a Service, against direct ones.
//!
//! Each case has a node of its own, with a Pod behind a link. A client on the node opens connections
//! one after the other, either to the Pod or to a Service in front of it, and resets them. Runs of all
//! cases alternate, with no connection left from the one before, and medians of many short runs are
//! compared: so what else the machine does meets all of them.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use evenkeel_testkit::netns::{Host, Network, Pod};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket_with, sockopt,
};

use crate::{
    cluster::{cluster_ip, create_served, create_services},
    kernel::flush_connections,
    load::{
        Failure,
        server::runtime,
        table::{Figure, grouped},
    },
    process::{Kind, Proxy, kube_proxy},
    station::{Station, inside},
};

const MANY: usize = 10_000;
const ENDPOINTS: usize = 5;
const ROUNDS: usize = 15;
const RUN: Duration = Duration::from_millis(400);
const PORT: u16 = 8080;
/// Connections that are not accepted yet: more than are opened in a run.
const BACKLOG: i32 = 65_535;

/// A node with its proxy, and a Pod that accepts connections.
struct Case {
    name: &'static str,
    kind: Kind,
    services: usize,
    direct: SocketAddr,
    through: SocketAddr,
    rates: Rates,
    // In this order: a proxy is stopped before its API server.
    _proxy: Proxy,
    _station: Station,
    _acceptor: Acceptor,
    _pod: Pod,
}

/// Connections each second, by run.
#[derive(Default)]
struct Rates {
    direct: Vec<f64>,
    through: Vec<f64>,
    /// Of a direct run and the one through the Service after it.
    ratios: Vec<f64>,
}

struct Acceptor {
    stop: Arc<AtomicBool>,
    address: SocketAddr,
    pod: evenkeel_testkit::netns::Namespace,
    thread: Option<JoinHandle<()>>,
}

const PLAN: &[(&str, Kind, usize)] = &[
    ("ours-1", Kind::Evenkeel, 1),
    ("ours-10k", Kind::Evenkeel, MANY),
    ("kube-1", Kind::Kubernetes, 1),
    ("kube-10k", Kind::Kubernetes, MANY),
];

pub(crate) fn run(is_quick: bool) -> Result<Vec<Figure>, Failure> {
    let has_kubernetes = kube_proxy().is_some() && !is_quick;
    let wanted = |kind: Kind| kind == Kind::Evenkeel || has_kubernetes;
    let plan: Vec<_> = PLAN.iter().filter(|(_, kind, _)| wanted(*kind)).collect();
    let hosts: Vec<(&str, &str)> = plan.iter().map(|(name, ..)| (*name, "zone-0")).collect();
    let network = Network::new(&hosts);
    let mut cases = Vec::new();
    for (name, kind, services) in plan {
        let host = network.host(name);
        cases.push(Case::start(host, name, *kind, *services)?);
    }
    let rounds = if is_quick { ROUNDS / 3 } else { ROUNDS };
    for round in 0..rounds {
        for case in &mut cases {
            case.round(network.host(case.name), round.is_multiple_of(2))?;
        }
    }
    Ok(figures(&cases))
}

// === impl Case ===

impl Case {
    fn start(
        host: &Host,
        name: &'static str,
        kind: Kind,
        services: usize,
    ) -> Result<Case, Failure> {
        let pod = host.pod("server");
        for namespace in [&**host, &*pod] {
            namespace.sysctl("ipv4/tcp_max_tw_buckets", "0");
        }
        // Where the acceptor is not scheduled for a while, no connection is to wait for a second.
        pod.sysctl("core/somaxconn", &BACKLOG.to_string());
        pod.sysctl("ipv4/tcp_max_syn_backlog", &BACKLOG.to_string());
        host.sysctl("ipv4/ip_local_port_range", "1024 65535");
        let acceptor = Acceptor::start(&pod, pod.v4)?;
        let direct = pod.at(PORT);
        let (proxy, station) = inside(host, || {
            let station = Station::start(host, name)?;
            let served = services - 1;
            runtime().block_on(async {
                create_services(&station.server, served, ENDPOINTS).await?;
                create_served(&station.server, served, direct).await
            })?;
            Ok((Proxy::start(kind, &station.folder)?, station))
        })?;
        let through = SocketAddr::from((cluster_ip(services - 1), 80));
        let rates = Rates::default();
        Ok(Case {
            name,
            kind,
            services,
            direct,
            through,
            rates,
            _proxy: proxy,
            _station: station,
            _acceptor: acceptor,
            _pod: pod,
        })
    }

    /// Which of both is first alternates too.
    fn round(&mut self, host: &Host, is_direct_first: bool) -> Result<(), Failure> {
        let (direct, through) = (self.direct, self.through);
        let measure = |to| {
            inside(host, || {
                flush_connections()?;
                rate(to)
            })
        };
        let (direct, through) = match is_direct_first {
            true => {
                let first = measure(direct)?;
                (first, measure(through)?)
            }
            false => {
                let first = measure(through)?;
                (measure(direct)?, first)
            }
        };
        self.rates.direct.push(direct);
        self.rates.through.push(through);
        self.rates.ratios.push(through / direct);
        Ok(())
    }
}

/// Connections each second, from one thread: the other processor accepts them.
fn rate(to: SocketAddr) -> Result<f64, Failure> {
    let (begun, mut n) = (Instant::now(), 0.0);
    while begun.elapsed() < RUN {
        let socket = socket()?;
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        connect(&socket, &to)?;
        n += 1.0;
    }
    Ok(n / begun.elapsed().as_secs_f64())
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket()?;
    bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

fn socket() -> io::Result<OwnedFd> {
    let (flags, protocol) = (SocketFlags::CLOEXEC, Some(ipproto::TCP));
    Ok(socket_with(AddressFamily::INET, SocketType::STREAM, flags, protocol)?)
}

// === impl Acceptor ===

impl Acceptor {
    fn start(pod: &Pod, ip: Ipv4Addr) -> Result<Acceptor, Failure> {
        let address = SocketAddr::from((ip, PORT));
        let listener = pod.run(|| listen(address))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                // One that was reset already is no failure.
                drop(listener.accept());
            }
        });
        Ok(Acceptor {
            stop,
            address,
            pod: evenkeel_testkit::netns::Namespace::clone(pod),
            thread: Some(thread),
        })
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let address = self.address;
        // Wakes it.
        drop(self.pod.run(|| std::net::TcpStream::connect(address)));
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

fn figures(cases: &[Case]) -> Vec<Figure> {
    let of = |kind: Kind, services: usize| {
        cases.iter().find(|case| case.kind == kind && case.services == services)
    };
    let mut figures = Vec::new();
    for services in [1, MANY] {
        let Some(ours) = of(Kind::Evenkeel, services) else { continue };
        let theirs = of(Kind::Kubernetes, services);
        let text = |case: &Case| {
            let Rates { direct, through, .. } = &case.rates;
            format!("{}; {}", grouped(median(direct)), grouped(median(through)))
        };
        let n = grouped(services as f64);
        figures.push(Figure {
            what: format!("new connections/s with {n} Services: direct; through one"),
            here: text(ours),
            target: "",
            kubernetes: theirs.map_or("", |theirs| text(theirs).leak()),
            met: true,
        });
        let ratio = |case: &Case| median(&case.rates.ratios);
        figures.push(Figure {
            what: format!("new connections with {n} Services, of direct ones"),
            here: format!("{:.3}", ratio(ours)),
            target: "0.97, not below kube-proxy",
            kubernetes: theirs.map_or("", |theirs| format!("{:.3}", ratio(theirs)).leak()),
            met: ratio(ours) >= 0.97 && theirs.is_none_or(|theirs| ratio(ours) >= ratio(theirs)),
        });
    }
    figures
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
