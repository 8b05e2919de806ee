//! The clients, in a process of their own: one thread, a task and a connection for each proxy.
//!
//! Its parent writes `arm` and reads `ready`, `armed` and `acked`, the last with the time of each client in
//! nanoseconds since the epoch. It ends with its input.

mod ads;
mod connection;
mod http2;
mod protobuf;

use std::{
    cell::{Cell, RefCell},
    io::Write as _,
    net::SocketAddr,
    rc::Rc,
};

use tokio::{
    sync::{Semaphore, mpsc},
    task::{LocalSet, spawn_local},
};

use crate::{
    load::{Failure, server::runtime},
    mesh::Mesh,
    quantile::now,
};

/// The word that makes this program the process of the clients.
pub(crate) const WORD: &str = "clients";

/// Connections that are being opened at the same time: the queue of a listener is short.
const OPENING: usize = 128;

/// What all clients share.
pub(crate) struct Fleet {
    address: SocketAddr,
    proxies: usize,
    opening: Semaphore,
    /// Counted up when a change is about to be made.
    round: Cell<u32>,
    /// Clients that have all that they asked for.
    ready: RefCell<Vec<u64>>,
    /// When each client acknowledged the change of this round.
    acked: RefCell<Vec<u64>>,
}

/// `ADDRESS FIRST PROXIES STALLED`
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let [address, numbers @ ..] = words else { return Err("no address".into()) };
    let numbers: Vec<usize> = numbers.iter().map(|n| n.parse()).collect::<Result<_, _>>()?;
    let [first, proxies, stalled] = numbers[..] else { return Err("three numbers".into()) };
    let fleet = Rc::new(Fleet {
        address: address.parse()?,
        proxies,
        opening: Semaphore::new(OPENING),
        round: Cell::new(0),
        ready: RefCell::default(),
        acked: RefCell::default(),
    });
    LocalSet::new().block_on(&runtime(), async {
        for n in first..first + proxies {
            let fleet = Rc::clone(&fleet);
            spawn_local(async move {
                if let Err(error) = connection::run(&fleet, &Mesh::name(n)).await {
                    give_up(&format!("client {n}: {error}"));
                }
            });
        }
        for n in first + proxies..first + proxies + stalled {
            let fleet = Rc::clone(&fleet);
            spawn_local(async move {
                // The server may end these connections.
                let _ = connection::stall(&fleet, &Mesh::name(n)).await;
            });
        }
        let mut orders = orders();
        while let Some(line) = orders.recv().await {
            if line == "arm" {
                fleet.round.set(fleet.round.get() + 1);
                fleet.acked.borrow_mut().clear();
                say("armed", &[])?;
            }
        }
        Ok(())
    })
}

/// The lines of the input.
fn orders() -> mpsc::UnboundedReceiver<String> {
    let (send, orders) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lines().map_while(Result::ok);
        // Without a receiver the process ends.
        lines.take_while(|line| send.send(line.clone()).is_ok()).for_each(drop);
    });
    orders
}

// === impl Fleet ===

impl Fleet {
    fn on_ready(&self) {
        self.note(&self.ready, "ready");
    }

    fn on_acked(&self) {
        self.note(&self.acked, "acked");
    }

    fn note(&self, times: &RefCell<Vec<u64>>, word: &str) {
        let mut times = times.borrow_mut();
        times.push(u64::try_from(now().as_nanos()).unwrap_or(u64::MAX));
        if times.len() == self.proxies && say(word, &times).is_err() {
            give_up("nobody listens");
        }
    }
}

fn say(word: &str, times: &[u64]) -> std::io::Result<()> {
    let mut line = word.to_owned();
    for time in times {
        line += &format!(" {time}");
    }
    line.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}

/// What was measured without one of the clients would mean nothing.
#[expect(clippy::print_stderr, reason = "the last words of a program")]
fn give_up(why: &str) -> ! {
    eprintln!("{why}");
    std::process::exit(1)
}
