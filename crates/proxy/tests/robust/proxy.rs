//! A proxy in this process, for one host.

use std::net::SocketAddr;

use evenkeel_model::Protocol;
use evenkeel_nft::{By, Data, Element, Family, Lane, SetId};
use evenkeel_proxy::{
    Error, NetworkNamespace, Ready, Settings,
    netlink::nftables::{Listing, Nftables},
};
use evenkeel_testkit::netns::Host;
use kube::Client;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::world::PATIENCE;

pub(crate) struct Proxy {
    task: JoinHandle<Result<(), Error>>,
    stop: DropGuard,
    ready: Ready,
}

// === impl Proxy ===

impl Proxy {
    /// Returns once its rules are in force.
    pub(crate) async fn start(client: &Client, host: &Host) -> Proxy {
        Proxy::with(client, host, |_| ()).await.unwrap()
    }

    /// The error, if it ends instead.
    pub(crate) async fn with(
        client: &Client,
        host: &Host,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Proxy, Error> {
        let mut settings = Settings::new(&host.name);
        settings.namespace = Some(NetworkNamespace::named(host.netns()).unwrap());
        settings.metrics = Some("127.0.0.1:0".parse().unwrap());
        change(&mut settings);
        let (ready, is_ready) = oneshot::channel();
        let stop = CancellationToken::new();
        let (client, stopped) = (client.clone(), stop.clone().cancelled_owned());
        let mut task = tokio::spawn(async move {
            let ready = move |it| ready.send(it).unwrap();
            evenkeel_proxy::run(client, settings, ready, stopped).await
        });
        let ready = timeout(PATIENCE, async {
            tokio::select! {
                Ok(ready) = is_ready => Ok(ready),
                ended = &mut task => Err(ended.unwrap().unwrap_err()),
            }
        });
        let ready = ready.await.unwrap()?;
        Ok(Proxy { task, stop: stop.drop_guard(), ready })
    }

    /// The sum of all series of a metric.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").await;
        let series = text.lines().filter(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with([' ', '{']))
        });
        series.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }

    /// What it answers, with its head.
    pub(crate) async fn get(&self, path: &str) -> String {
        get(self.ready.metrics.unwrap(), path).await
    }

    pub(crate) async fn stop(self) {
        drop(self.stop);
        timeout(PATIENCE, self.task).await.unwrap().unwrap().unwrap();
    }
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// The elements of the host's tables, without those that packets wrote, in the order of their keys.
pub(crate) fn elements(host: &Host) -> Vec<Element> {
    let listed = Family::ALL.into_iter().filter_map(|family| listing(host, family));
    let mut elements: Vec<Element> = listed.flat_map(|listing| listing.elements).collect();
    elements.sort_by_key(Element::key);
    elements
}

pub(crate) fn listing(host: &Host, family: Family) -> Option<Listing> {
    host.run(|| Nftables::open().unwrap().list(family, "evenkeel").unwrap())
}

/// The number of the kernel's ruleset: each commit, of whoever, raises it.
pub(crate) fn generation(host: &Host) -> u32 {
    host.run(|| Nftables::open().unwrap().generation().unwrap().id)
}

/// The endpoints of port 80 at a cluster IP, in the order of their addresses.
pub(crate) fn backends_of(elements: &[Element], ip: [u8; 4]) -> Vec<std::net::IpAddr> {
    let key = evenkeel_nft::Key::new().address(ip.into()).protocol(Protocol::Tcp).port(80);
    let set = SetId::Endpoints(By::Address, Lane::Main);
    let of = |element: &&Element| {
        element.set == set && element.key.as_bytes().starts_with(key.as_bytes())
    };
    let ip = |element: &Element| match &element.data {
        Data::Backend(backend) => Some(backend.ip),
        _ => None,
    };
    let mut ips: Vec<_> = elements.iter().filter(of).filter_map(ip).collect();
    ips.sort_unstable();
    ips
}
