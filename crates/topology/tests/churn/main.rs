//! Locality under churn: many rounds in which Pods are replaced, compared with Kubernetes' way on
//! the same packing.

mod locality;
mod rounds;
mod writes;
