//! The tables of commands, by topic.

pub(crate) mod apply;
pub(crate) mod auth;
pub(crate) mod change;
pub(crate) mod collect;
pub(crate) mod create;
pub(crate) mod custom;
pub(crate) mod delete;
pub(crate) mod describe;
pub(crate) mod discover;
pub(crate) mod flowcontrol;
pub(crate) mod get;
pub(crate) mod sandbox;
pub(crate) mod templates;
pub(crate) mod wait;
pub(crate) mod watch;
pub(crate) mod wide;
