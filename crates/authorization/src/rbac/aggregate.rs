//! ClusterRoles that are made of others (`aggregationRule`).
