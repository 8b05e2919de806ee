//! The unmodified `kube` client, as a controller uses it.

mod collections;
mod objects;
mod parts;
mod restarts;
