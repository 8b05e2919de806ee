//! The health check ports of Services (`spec.healthCheckNodePort`).
//!
//! Each is served at the node's addresses for node ports. A port that can't be opened is logged once and
//! tried again: until it stops, another proxy of this node may have it.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr, TcpListener as Listener},
    sync::Arc,
};

use evenkeel_admin::endpoint::{self, Reply};
use evenkeel_model::ServiceKey;
use http::{HeaderValue, StatusCode};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    NetworkNamespace,
    engine::HealthCheck,
    health::{Vitals, with},
    kernel::inside,
};

#[derive(Debug)]
pub(crate) struct HealthPorts {
    namespace: Option<NetworkNamespace>,
    vitals: Arc<Vitals>,
    open: BTreeMap<SocketAddr, Open>,
    /// Those that could not be opened, which was logged.
    failed: BTreeMap<SocketAddr, Local>,
}

/// A port that is served, for one Service at a time.
#[derive(Debug)]
struct Open {
    local: Arc<Mutex<Local>>,
    _stop: DropGuard,
}

/// What a port tells.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Local {
    service: ServiceKey,
    endpoints: usize,
}

impl HealthPorts {
    pub(crate) fn new(namespace: Option<NetworkNamespace>, vitals: Arc<Vitals>) -> HealthPorts {
        HealthPorts { namespace, vitals, open: BTreeMap::new(), failed: BTreeMap::new() }
    }

    /// Opens and closes ports, and tells them their numbers.
    pub(crate) fn follow(&mut self, checks: impl Iterator<Item = HealthCheck>, ips: &[IpAddr]) {
        let mut wanted: BTreeMap<SocketAddr, Local> = BTreeMap::new();
        for HealthCheck { service, port, local_endpoints } in checks {
            for ip in ips {
                let local = Local { service: service.clone(), endpoints: local_endpoints };
                wanted.insert(SocketAddr::new(*ip, port), local);
            }
        }
        self.open.retain(|address, _| wanted.contains_key(address));
        self.failed.retain(|address, _| wanted.contains_key(address));
        for (address, local) in wanted {
            match self.open.get(&address) {
                Some(open) => *open.local.lock() = local,
                None => self.open(address, local),
            }
        }
    }

    /// Tries those again that could not be opened.
    pub(crate) fn retry(&mut self) {
        for (address, local) in self.failed.clone() {
            self.open(address, local);
        }
    }

    fn open(&mut self, address: SocketAddr, local: Local) {
        let bind = || {
            let listener = Listener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok::<_, std::io::Error>(listener)
        };
        let listener = match inside(self.namespace.as_ref(), bind) {
            Ok(listener) => listener.and_then(TcpListener::from_std).map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => {
                let service = local.service.clone();
                if self.failed.insert(address, local).is_none() {
                    tracing::warn!(%service, %address, error, "cannot listen on health check port, retrying");
                }
                return;
            }
        };
        self.failed.remove(&address);
        let (local, stop) = (Arc::new(Mutex::new(local)), CancellationToken::new());
        let (told, vitals) = (Arc::clone(&local), Arc::clone(&self.vitals));
        let answer = move |_: &http::Method, _: &http::Uri| {
            let is_healthy = vitals.is_healthy(tokio::time::Instant::now());
            let Local { service, endpoints } = told.lock().clone();
            answer(&service, endpoints, is_healthy)
        };
        tokio::spawn(endpoint::serve_answers(listener, Arc::new(answer), stop.clone()));
        self.open.insert(address, Open { local, _stop: stop.drop_guard() });
    }
}

/// As kube-proxy answers, whatever the path.
fn answer(service: &ServiceKey, local_endpoints: usize, is_healthy: bool) -> Reply {
    let ServiceKey { namespace, name } = service;
    let body = format!(
        "{{\n\t\"service\": {{\n\t\t\"namespace\": {namespace:?},\n\t\t\"name\": {name:?}\n\t}},\n\t\
         \"localEndpoints\": {local_endpoints},\n\t\"serviceProxyHealthy\": {is_healthy}\n}}"
    );
    let is_ok = local_endpoints > 0 && is_healthy;
    let code = if is_ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut reply = with("application/json", code, body);
    let weight = HeaderValue::from(local_endpoints);
    reply.headers_mut().insert("x-load-balancing-endpoint-weight", weight);
    reply
}

#[cfg(test)]
mod tests {
    use evenkeel_k8s::watch::{Conditions, Selectors, WatchSettings};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        time::Instant,
    };

    use super::*;

    #[test]
    fn a_node_with_endpoints_is_healthy() {
        let service = ServiceKey::new("shop", "web");
        for (n, is_healthy, code) in [(2, true, 200), (0, true, 503), (2, false, 503)] {
            let reply = answer(&service, n, is_healthy);
            assert_eq!(reply.status().as_u16(), code);
            assert_eq!(reply.headers()["x-load-balancing-endpoint-weight"], n.to_string());
        }
    }
    /// At a hand-over, the other proxy still has the port. Later, another Service gets it.
    #[tokio::test]
    async fn a_port_that_is_taken_is_opened_when_it_is_free_and_may_change_hands() {
        let other = Listener::bind("127.0.0.1:0").unwrap();
        let address = other.local_addr().unwrap();
        let watches =
            Conditions::new(&Selectors::default(), &WatchSettings::default(), Instant::now());
        let mut ports = HealthPorts::new(None, Arc::new(Vitals::new(Arc::new(watches))));
        let check = |name: &str, local_endpoints| {
            let service = ServiceKey::new("shop", name);
            [HealthCheck { service, port: address.port(), local_endpoints }].into_iter()
        };
        ports.follow(check("web", 2), &[address.ip()]);
        ports.retry();
        assert!(ports.open.is_empty());
        drop(other);
        ports.retry();
        assert!(ask(address).await.contains("\"web\""), "nothing else has changed");
        ports.follow(check("api", 0), &[address.ip()]);
        let said = ask(address).await;
        assert!(said.contains("\"api\"") && said.contains(" 503 "), "{said}");
        ports.follow([].into_iter(), &[address.ip()]);
        assert!(ports.open.is_empty() && ports.failed.is_empty());
    }

    async fn ask(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }
}
