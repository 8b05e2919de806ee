//! Locality-aware load balancing: what MeshLoadBalancingStrategy makes of the endpoints of a service.
