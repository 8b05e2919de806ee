//! A proxy's part of the protocol, in the order in which Envoy asks: clusters, their endpoints, listeners, their
//! routes. It accepts all that it is sent.

use super::protobuf;
use crate::mesh::CHANGED;

const CLUSTER: &[u8] = b"type.googleapis.com/envoy.config.cluster.v3.Cluster";
const ENDPOINT: &[u8] = b"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
const LISTENER: &[u8] = b"type.googleapis.com/envoy.config.listener.v3.Listener";
const ROUTE: &[u8] = b"type.googleapis.com/envoy.config.route.v3.RouteConfiguration";

#[derive(Debug, Default)]
pub(super) struct Ads {
    /// Names of the clusters that have endpoints of their own, until routes are asked for.
    clusters: Vec<Box<[u8]>>,
    n_clusters: usize,
    endpoints: usize,
    routes: usize,
    has_listeners: bool,
}

/// What a response meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// There is nothing more to wait for.
    pub(super) is_complete: bool,
    /// The resource that changes was in it.
    pub(super) has_change: bool,
}

// === impl Ads ===

impl Ads {
    pub(super) fn begin(out: &mut Vec<u8>, node: &str) {
        protobuf::request(out, Some(node), CLUSTER, [], &[]);
    }

    /// Asks for everything at once, as one who does not read has to.
    pub(super) fn begin_all(out: &mut Vec<u8>, node: &str, clusters: &[String]) {
        Self::begin(out, node);
        protobuf::request(out, None, ENDPOINT, clusters.iter().map(String::as_bytes), &[]);
        protobuf::request(out, None, LISTENER, [], &[]);
    }

    /// Appends the acknowledgement, and what is asked for next.
    pub(super) fn on_response(&mut self, message: &[u8], out: &mut Vec<u8>) -> Option<Seen> {
        let protobuf::Response { type_url, nonce, names } = protobuf::read(message)?;
        protobuf::request(out, None, type_url, [], nonce);
        let was_complete = self.is_complete();
        let mut has_change = false;
        if type_url == CLUSTER {
            self.on_clusters(&names, out);
        } else if type_url == ENDPOINT {
            has_change = names.contains(&CHANGED.as_bytes());
            self.on_endpoints(names.len(), out);
        } else if type_url == LISTENER {
            self.on_listeners(out);
        } else if type_url == ROUTE {
            self.routes += names.len();
        }
        Some(Seen { is_complete: !was_complete && self.is_complete(), has_change })
    }

    /// Those of inbounds, whose names are addresses, are static.
    fn on_clusters(&mut self, names: &[&[u8]], out: &mut Vec<u8>) {
        let names = names.iter().filter(|name| !name.contains(&b':'));
        self.clusters.extend(names.map(|name| Box::from(*name)));
        self.n_clusters = self.clusters.len();
        protobuf::request(out, None, ENDPOINT, self.clusters.iter().map(|name| &**name), &[]);
    }

    fn on_endpoints(&mut self, n: usize, out: &mut Vec<u8>) {
        let had = self.endpoints;
        self.endpoints += n;
        if had < self.n_clusters && self.endpoints >= self.n_clusters {
            protobuf::request(out, None, LISTENER, [], &[]);
        }
    }

    fn on_listeners(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.has_listeners, true) {
            return;
        }
        let tables = std::mem::take(&mut self.clusters);
        let tables: Vec<Vec<u8>> =
            tables.iter().map(|name| [b"outbound:", &**name].concat()).collect();
        protobuf::request(out, None, ROUTE, tables.iter().map(|name| &**name), &[]);
    }

    fn is_complete(&self) -> bool {
        self.n_clusters > 0 && self.endpoints >= self.n_clusters && self.routes >= self.n_clusters
    }
}
