//! `kube`'s own code, unmodified, as a controller uses it.

mod collections;
mod objects;
mod parts;
mod restarts;
