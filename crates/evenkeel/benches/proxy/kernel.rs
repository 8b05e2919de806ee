//! What the kernel has, and when it changes.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use evenkeel_nft::{Config, Family};
use evenkeel_proxy::netlink::{Socket, message::flags, nftables::Nftables, socket::Protocol};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::load::Failure;

/// `NFNLGRP_NFTABLES`, as a mask.
const EVENTS: u32 = 1 << 6;

/// `NFNL_SUBSYS_CTNETLINK`, `IPCTNL_MSG_CT_DELETE`.
const DELETE_CONNECTIONS: (u8, u8) = (1, 2);

/// The time of each commit of anybody in this namespace.
pub(crate) struct Commits {
    at: Receiver<Instant>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What is in our tables.
pub(crate) struct Contents {
    pub(crate) rules: usize,
    pub(crate) elements: usize,
}

// === impl Commits ===

impl Commits {
    pub(crate) fn watch() -> Result<Commits, Failure> {
        let mut socket = Socket::open(Protocol::Netfilter, EVENTS)?;
        let (send, at) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
                let ready = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&wait));
                let now = Instant::now();
                // The events of one commit come together.
                let is_event = ready.is_ok_and(|n| n > 0) && socket.discard_events().is_ok();
                if is_event && send.send(now).is_err() {
                    return;
                }
            }
        });
        Ok(Commits { at, stop, thread: Some(thread) })
    }

    /// Forgets those until now.
    pub(crate) fn forget(&self) {
        while self.at.try_recv().is_ok() {}
    }

    pub(crate) fn next(&self, patience: Duration) -> Result<Instant, Failure> {
        Ok(self.at.recv_timeout(patience).map_err(|_| "no commit followed a change")?)
    }
}

impl Drop for Commits {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Counts what is in the tables of a proxy of Evenkeel.
pub(crate) fn contents() -> Result<Contents, Failure> {
    let mut nftables = Nftables::open()?;
    let mut contents = Contents { rules: 0, elements: 0 };
    for family in Family::ALL {
        if let Some(listing) = nftables.list(family, &Config::default().table)? {
            contents.rules += listing.rules.len();
            contents.elements += listing.elements.len();
        }
    }
    Ok(contents)
}

/// Deletes all tables of both proxies.
pub(crate) fn delete_tables() -> Result<(), Failure> {
    let mut nftables = Nftables::open()?;
    for family in Family::ALL {
        for table in [Config::default().table.as_str(), "kube-proxy"] {
            nftables.delete_table(family, table)?;
        }
    }
    Ok(())
}

/// Memory that the kernel uses for itself, in megabytes: small objects, tables of hashes, and values
/// for each processor.
pub(crate) fn memory() -> Result<f64, Failure> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let kilobytes = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_meant = ["SUnreclaim", "VmallocUsed", "Percpu"].contains(&name);
        is_meant.then(|| value.split_whitespace().next()?.parse::<f64>().ok()).flatten()
    });
    Ok(kilobytes.sum::<f64>() * 1024.0 / 1e6)
}

/// Forgets all connections of this namespace.
pub(crate) fn flush_connections() -> Result<(), Failure> {
    let mut socket = Socket::open(Protocol::Netfilter, 0)?;
    socket.request(
        |writer, sequence| {
            let flags = flags::REQUEST | flags::ACK;
            let message = writer.begin_netfilter(DELETE_CONNECTIONS, flags, sequence, (0, 0));
            writer.end(message);
        },
        |_| Ok(()),
    )?;
    Ok(())
}
