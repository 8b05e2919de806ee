//! Removes connections of UDP that lead to endpoints that are gone.
//!
//! Reading the kernel's connections may take long, so it is done on a thread of its own, and only
//! those of frontends in question are kept. Whether one is stale is decided by the engine when they
//! have been read, by the state at that time.

use std::time::{Duration, Instant};

use core::net::IpAddr;

use evenkeel_nft::Family;
use tokio::task::JoinHandle;

use crate::{
    NetworkNamespace,
    engine::{Engine, Stale},
    error::Error,
    kernel::inside,
    metrics::Metrics,
    netlink::{
        self,
        conntrack::{self, Conntrack, Filter, Flow},
    },
};

/// The number of UDP in IP headers.
const UDP: u8 = 17;

/// The kernel's connections, and what is to be looked for in them.
#[derive(Debug)]
pub(crate) struct Flows {
    families: Vec<Family>,
    waiting: Stale,
    state: State,
}

#[derive(Debug)]
enum State {
    Idle(Conntrack),
    Reading(JoinHandle<Read>),
    /// The kernel has no connection tracking, or a thread was lost.
    Off,
}

#[derive(Debug)]
struct Read {
    conntrack: Conntrack,
    found: netlink::Result<Vec<Flow>>,
    stale: Stale,
    took: Duration,
}

// === impl Flows ===

impl Flows {
    pub(crate) fn open(
        namespace: Option<&NetworkNamespace>,
        families: &[Family],
    ) -> Result<Flows, Error> {
        let conntrack = inside(namespace, Conntrack::open)?.map_err(Error::Netlink)?;
        let families = families.to_vec();
        Ok(Flows { families, waiting: Stale::default(), state: State::Idle(conntrack) })
    }

    /// Starts to look, or does after the look that is under way.
    pub(crate) fn check(&mut self, stale: Stale, node_port_ips: Vec<IpAddr>) {
        self.waiting.extend(stale);
        if self.waiting.is_empty() || !matches!(self.state, State::Idle(_)) {
            return;
        }
        let State::Idle(mut conntrack) = std::mem::replace(&mut self.state, State::Off) else {
            return;
        };
        let (stale, families) = (std::mem::take(&mut self.waiting), self.families.clone());
        self.state = State::Reading(tokio::task::spawn_blocking(move || {
            let start = Instant::now();
            let found = read(&mut conntrack, &families, &stale, &node_port_ips);
            Read { conntrack, found, stale, took: start.elapsed() }
        }));
    }

    /// When a look is done. Cancel safe.
    pub(crate) async fn done(&mut self) -> Done {
        let State::Reading(task) = &mut self.state else { return std::future::pending().await };
        let read = task.await;
        self.state = State::Off;
        Done(read.ok())
    }

    /// Removes what is stale now.
    pub(crate) fn remove(&mut self, done: Done, engine: &Engine, metrics: &Metrics) {
        let Some(Read { mut conntrack, found, stale, took }) = done.0 else {
            tracing::error!("reading connections failed; stale ones stay");
            return;
        };
        match found {
            Ok(flows) => {
                for family in self.families.iter().filter(|family| stale.has(**family)) {
                    let removed = remove(&mut conntrack, *family, &flows, &stale, engine);
                    metrics.conntrack(*family, took, removed);
                    if removed > 0 {
                        tracing::info!(%family, connections = removed, "removed stale UDP connections");
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, "reading connections failed, retrying with the next change");
                self.waiting.extend(stale);
            }
        }
        self.state = State::Idle(conntrack);
    }
}

/// The result of a look.
#[derive(Debug)]
pub(crate) struct Done(Option<Read>);

fn read(
    conntrack: &mut Conntrack,
    families: &[Family],
    stale: &Stale,
    node_port_ips: &[IpAddr],
) -> netlink::Result<Vec<Flow>> {
    let mut found = Vec::new();
    // Each takes a walk through the whole of the kernel's table.
    for family in families.iter().filter(|family| stale.has(**family)) {
        let filter = Filter { family: of(*family), protocol: UDP, destination: None };
        conntrack.each(&filter, |flow| {
            let original = (flow.orig.dst.ip(), flow.orig.dst.port());
            if stale.concerns(node_port_ips, original) {
                found.push(*flow);
            }
        })?;
    }
    Ok(found)
}

fn remove(
    conntrack: &mut Conntrack,
    family: Family,
    flows: &[Flow],
    stale: &Stale,
    engine: &Engine,
) -> usize {
    let is_stale = |flow: &&Flow| {
        let original = (flow.orig.dst.ip(), flow.orig.dst.port());
        let reply = (flow.reply.src.ip(), flow.reply.src.port());
        flow.family == of(family) && engine.is_stale(stale, original, reply)
    };
    let mut removed = 0;
    for flow in flows.iter().filter(is_stale) {
        match conntrack.delete(flow) {
            Ok(is_removed) => removed += usize::from(is_removed),
            Err(error) => tracing::warn!(%error, "removing a stale connection failed"),
        }
    }
    removed
}

fn of(family: Family) -> conntrack::Family {
    match family {
        Family::Ipv4 => conntrack::Family::Ipv4,
        Family::Ipv6 => conntrack::Family::Ipv6,
    }
}
