//! The embedded Kubernetes API: the protocol of kube-apiserver over one machine's memory and disk.
//!
//! ```text
//! serve (TLS, HTTP) ─► chain (identify, admit, authorize) ─► verbs ─► registry ─► writer
//!                                                             │                      │
//!                                                             ◄─ storage ◄─ journal ─┘
//! ```
//!
//! Discovery, OpenAPI, tables, selectors and patches are all derived from the table of kinds
//! (`kinds`) and the table of types (`types`). If enabled, `sandbox` simulates kubelets, a
//! scheduler and controllers. The server is not meant to run on more than one machine.

mod answer;
mod api;
mod authorizer;
mod body;
mod certificates;
mod chain;
mod custom;
mod discovery;
mod document;
mod fairness;
#[cfg(test)]
mod faults;
mod follow;
#[doc(hidden)]
pub mod fuzzing;
mod housekeeping;
mod identity;
mod invalid;
pub mod journal;
mod kinds;
mod logs;
mod meters;
mod metrics;
mod negotiate;
mod openapi;
mod pools;
mod protobuf;
mod random;
mod registry;
mod repair;
mod replayed;
mod request;
mod sandbox;
mod serve;
mod server;
mod settings;
mod shutdown;
mod status;
mod storage;
mod table;
mod tokens;
mod types;
mod verbs;
mod warnings;
mod watchers;
pub mod writer;

pub use crate::{
    certificates::{CertificateError, FolderError},
    fairness::FileError,
    identity::TokenFileError,
    sandbox::OUTAGE_UNTIL,
    server::{Error, Ready, run},
    settings::{
        Authorization, FairnessProfile, FairnessSettings, FairnessSource, Features, IpRange,
        Sandbox, ServiceAccounts, Settings,
    },
    tokens::TokenKeyError,
};
