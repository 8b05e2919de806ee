//! The health check ports of Services (`spec.healthCheckNodePort`).
//!
//! Each is served at the node's addresses for node ports. A port that can't be opened is tried again
//! with the next change, and is logged once.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr, TcpListener as Listener},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use evenkeel_admin::endpoint::{self, Reply};
use evenkeel_model::ServiceKey;
use http::{HeaderValue, StatusCode};
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
    open: BTreeMap<(SocketAddr, ServiceKey), Open>,
    /// Addresses that could not be opened, as logged.
    failed: BTreeSet<SocketAddr>,
}

#[derive(Debug)]
struct Open {
    local_endpoints: Arc<AtomicUsize>,
    _stop: DropGuard,
}

impl HealthPorts {
    pub(crate) fn new(namespace: Option<NetworkNamespace>, vitals: Arc<Vitals>) -> HealthPorts {
        HealthPorts { namespace, vitals, open: BTreeMap::new(), failed: BTreeSet::new() }
    }

    /// Opens and closes ports, and tells them their numbers.
    pub(crate) fn follow(&mut self, checks: impl Iterator<Item = HealthCheck>, ips: &[IpAddr]) {
        let mut wanted: BTreeMap<(SocketAddr, ServiceKey), usize> = BTreeMap::new();
        for HealthCheck { service, port, local_endpoints } in checks {
            for ip in ips {
                wanted.insert((SocketAddr::new(*ip, port), service.clone()), local_endpoints);
            }
        }
        if wanted.is_empty() && self.open.is_empty() {
            return;
        }
        self.open.retain(|key, _| wanted.contains_key(key));
        self.failed.retain(|address| wanted.keys().any(|(wanted, _)| wanted == address));
        for ((address, service), n) in wanted {
            match self.open.get(&(address, service.clone())) {
                Some(open) => open.local_endpoints.store(n, Ordering::Relaxed),
                None => self.open(address, service, n),
            }
        }
    }

    fn open(&mut self, address: SocketAddr, service: ServiceKey, n: usize) {
        let bind = || {
            let listener = Listener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok::<_, std::io::Error>(listener)
        };
        let listener = match inside(self.namespace.as_ref(), bind) {
            Ok(listener) => listener.and_then(TcpListener::from_std).map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match listener {
            Ok(listener) => {
                self.failed.remove(&address);
                let local_endpoints = Arc::new(AtomicUsize::new(n));
                let (count, vitals) = (Arc::clone(&local_endpoints), Arc::clone(&self.vitals));
                let (stop, name) = (CancellationToken::new(), service.clone());
                let answer = move |_: &http::Method, _: &http::Uri| {
                    let is_healthy = vitals.is_healthy(tokio::time::Instant::now());
                    answer(&name, count.load(Ordering::Relaxed), is_healthy)
                };
                tokio::spawn(endpoint::serve_answers(listener, Arc::new(answer), stop.clone()));
                let open = Open { local_endpoints, _stop: stop.drop_guard() };
                self.open.insert((address, service), open);
            }
            Err(error) if self.failed.insert(address) => {
                tracing::warn!(%service, %address, error, "cannot listen on health check port");
            }
            Err(_) => {}
        }
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
}
