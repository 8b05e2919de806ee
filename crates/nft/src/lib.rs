//! The node's ruleset as a value: planned from endpoints, compared with what was last committed,
//! rendered as text, and evaluated in tests.
//!
//! ```text
//!   Services, endpoints in use, node ─► Ruleset ─┬─ Transaction: what changed ─► the kernel
//!                                                ├─ text: all of it, for `nft -f`
//!                                                └─ evaluate: what becomes of a packet
//! ```
//!
//! The shape is *flat*: a fixed number of sets, and chains that Services share. A Service is a few
//! elements for each of its frontends, one more for each endpoint. [`rules`] describes the path of a
//! connection.
//!
//! Not here: netlink, and which endpoints a node uses (crate `topology`).

pub mod chain;
pub mod config;
pub mod evaluate;
mod family;
mod frontend;
pub mod pool;
pub mod rule;
mod rules;
mod ruleset;
mod set;
pub mod text;
mod transaction;
mod value;
mod version;

pub use crate::{
    chain::{ChainId, Hook},
    config::{Config, DetectLocal},
    family::Family,
    frontend::{Frontend, FrontendSpec, Kind, PortName, PortSpec},
    pool::{Member, Pool, ZoneShare},
    rules::rules,
    ruleset::{Adopted, Counted, InUse, Ruleset},
    set::{By, DataType, Lane, MOST_AFFINITIES, SetId},
    transaction::{Change, Create, Element, ElementKey, Remove, Transaction, Verb},
    value::{Data, Key, Type, Verdict, address, number},
    version::{fixed_chains, version},
};
