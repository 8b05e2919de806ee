//! Kubernetes objects to Evenkeel's model and back: the only place that knows both.
//!
//! ```text
//!   text ──manifest──► Objects ◄──live── API server
//!                         │
//!                      snapshot (uses convert)
//!                         ▼
//!                  model::Snapshot
//!
//!   API server ──watch──► Batch of watched::Pod, Node, Service, EndpointSlice, Lease, MeshObject
//!                            │ seen (uses convert); a MeshObject stays as it is
//!                            ▼
//!                  model::SeenPod, Node, SeenService, SeenSlice, SeenReport
//!
//!   model::Slice, Condition, ProxyReport ──convert──► objects to create, patches
//!
//!   types in custom ──definitions──► the manifests of deploy/crds and deploy/crds/mesh
//! ```
//!
//! Everything that can be wrong with an object is found here, and said with the name of the
//! object and the path of the field. Behind this crate there are no `Option<Vec<..>>` and no
//! unparsed quantities or addresses.
//!
//! What this crate does *not* do: it decides nothing (crate `topology`), it never writes to a
//! cluster (only what is to be written is made here), it reads no files (callers hand in the text),
//! it starts no tasks (callers run those of `watch`) and it prints nothing.

pub mod convert;
pub mod custom;
pub mod live;
pub mod manifest;
pub mod snapshot;
pub mod watch;
pub mod watched;

mod excerpt;
mod objects;
mod raw;

pub use crate::{
    convert::FieldError,
    objects::{Collected, Item, Note, Objects, Origin},
    raw::RawServices,
};
