//! New connections each second through a Service, against direct ones.
//!
//! Each case has a node of its own, with a Pod behind a link. A client on the node opens connections
//! one after the other, either to the Pod or to a Service in front of it, and resets them. Runs of all
//! cases alternate, with no connection left from the one before, and medians of many short runs are
//! compared: so what else the machine does meets all of them.

use std::{
    fs, io,
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
const ROUNDS: usize = 60;
const RUN: Duration = Duration::from_millis(100);
const PORT: u16 = 8080;
/// By how much the ratio of two equal cases differs from run to run.
const NOISE: f64 = 0.01;
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

#[derive(Default)]
struct Rates {
    direct: Vec<Run>,
    through: Vec<Run>,
}

/// One run of one client.
#[derive(Clone, Copy)]
struct Run {
    connections: f64,
    /// In seconds, by the clock and of the processor. The client's thread does the kernel's work for both
    /// ends of a connection, so that the latter tells its cost, whatever else the machine does.
    clock: f64,
    processor: f64,
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
        let measure = |to: SocketAddr| {
            inside(host, || {
                flush_connections()?;
                connect_many(to)
            })
        };
        if is_direct_first {
            self.rates.direct.push(measure(self.direct)?);
        }
        self.rates.through.push(measure(self.through)?);
        if !is_direct_first {
            self.rates.direct.push(measure(self.direct)?);
        }
        Ok(())
    }
}

// === impl Rates ===

impl Rates {
    /// Connections of the one for each of the other, by the clock.
    fn ratio(&self) -> f64 {
        per_second(&self.through) / per_second(&self.direct)
    }

    /// The same by what they cost.
    fn ratio_of_costs(&self) -> f64 {
        let cost = |runs: &[Run]| {
            let processor: f64 = runs.iter().map(|run| run.processor).sum();
            processor / runs.iter().map(|run| run.connections).sum::<f64>()
        };
        cost(&self.direct) / cost(&self.through)
    }
}

/// The median of all runs.
fn per_second(runs: &[Run]) -> f64 {
    let mut rates: Vec<f64> = runs.iter().map(|run| run.connections / run.clock).collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// From one thread: the other processor accepts them.
fn connect_many(to: SocketAddr) -> Result<Run, Failure> {
    let (begun, before, mut connections) = (Instant::now(), processor_time()?, 0.0);
    while begun.elapsed() < RUN {
        let socket = socket()?;
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        connect(&socket, &to)?;
        connections += 1.0;
    }
    let clock = begun.elapsed().as_secs_f64();
    Ok(Run { connections, clock, processor: processor_time()? - before })
}

/// What this thread has used.
fn processor_time() -> Result<f64, Failure> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
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
        let n = grouped(services as f64);
        let mut row = |what: &str, text: &dyn Fn(&Rates) -> String, (met, target)| {
            figures.push(Figure {
                what: format!("new connections with {n} Services{what}"),
                here: text(&ours.rates),
                target,
                kubernetes: theirs.map_or("", |theirs| text(&theirs.rates).leak()),
                met,
            });
        };
        let rates = |rates: &Rates| {
            let [direct, through] = [&rates.direct, &rates.through].map(|runs| per_second(runs));
            format!("{}; {}", grouped(direct), grouped(through))
        };
        row("/s, direct; through one", &rates, (true, ""));
        for (what, ratio) in [
            (", of direct ones", Rates::ratio as fn(&Rates) -> f64),
            (", of direct ones, by processor time", Rates::ratio_of_costs),
        ] {
            let here = ratio(&ours.rates);
            let is_above = theirs.is_none_or(|theirs| here >= ratio(&theirs.rates) - NOISE);
            let is_met = here >= 0.97 && is_above;
            let target = "0.97, not below kube-proxy";
            row(what, &|rates| format!("{:.3}", ratio(rates)), (is_met, target));
        }
    }
    figures
}
