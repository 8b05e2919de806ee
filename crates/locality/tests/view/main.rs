//! What proxies are told: from resources as they are written to plans and assignments.

mod changes;
mod hashing;
mod hostile;
mod plain;
mod precedence;
mod properties;
mod record;
mod routes;
mod scale;
mod setup;
