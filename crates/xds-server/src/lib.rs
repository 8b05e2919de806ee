//! Serves a mesh to Envoy proxies over xDS.
