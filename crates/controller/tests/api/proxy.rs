//! A middlebox: forwards connections until it is told to forget them without a word.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// What becomes of the bytes of a connection that is forgotten. It is never closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// They are taken, and acknowledged, and go nowhere.
    Swallow,
    /// They are not taken, and fill the buffers.
    Deaf,
}

/// Ends when it is dropped, with all its connections.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    rules: watch::Sender<Rules>,
    task: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Connections of an earlier generation are forgotten.
    generation: u64,
    stall: Stall,
    /// Whether new connections are forwarded.
    is_open: bool,
}

impl Proxy {
    pub(crate) async fn start(to: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let rules = Rules { generation: 0, stall: Stall::Swallow, is_open: true };
        let (rules, seen) = watch::channel(rules);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, to, seen.clone()));
            }
        });
        Proxy { address, rules, task }
    }

    /// Forgets all connections, and those that come from now on.
    pub(crate) fn forget(&self, stall: Stall) {
        self.rules.send_modify(|rules| {
            *rules = Rules { generation: rules.generation + 1, stall, is_open: false };
        });
    }

    /// New connections are forwarded again.
    pub(crate) fn open(&self) {
        self.rules.send_modify(|rules| {
            *rules = Rules { generation: rules.generation + 1, is_open: true, ..*rules };
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(mut client: TcpStream, to: SocketAddr, mut rules: watch::Receiver<Rules>) {
    let Rules { generation, stall, is_open } = *rules.borrow();
    let mut server = TcpStream::connect(to).await.unwrap();
    let mut stall = stall;
    if is_open {
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut server) => return,
            changed = rules.wait_for(|rules| rules.generation != generation) => match changed {
                Ok(rules) => stall = rules.stall,
                Err(_) => return,
            },
        }
    }
    let ended = async { while rules.changed().await.is_ok() {} };
    tokio::select! {
        () = ended => {}
        () = hold(&mut client, &mut server, stall) => {}
    }
}

async fn hold(client: &mut TcpStream, server: &mut TcpStream, stall: Stall) {
    if stall == Stall::Swallow {
        let (mut from_client, mut from_server) = ([0; 4096], [0; 4096]);
        loop {
            let taken = tokio::select! {
                taken = client.read(&mut from_client) => taken,
                taken = server.read(&mut from_server) => taken,
            };
            if !matches!(taken, Ok(1..)) {
                break;
            }
        }
    }
    std::future::pending::<()>().await;
}
