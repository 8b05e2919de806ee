//! What Envoy is served over xDS.
