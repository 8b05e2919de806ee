//! Balanced: a policy that never gives up.
//!
//! Auto gives each endpoint to one zone, or no hints at all. Balanced says for each client zone which
//! part of its traffic goes to the endpoints of which zone, so that no endpoint gets more than its
//! allowance and as little traffic as possible leaves its zone, then its region. KEP-2433 names that
//! under "Future API Expansion": several zones for an endpoint, with weights.
//!
//! ```text
//!  Nodes ──► demand ─┐
//!                    ├─► solve ──► round ──► decide ──► zone shares, and why parts leave their zone
//!  ready endpoints ──┘   exact     1/1,000   keeps what is in force while it is good enough
//! ```
//!
//! [`mod@solve`] holds the algorithm and its proof, [`mod@round`] the bound on what rounding adds.
//! Consumers apply the table in [`mod@crate::select`]; [`mod@figures`] measures what that does.

pub mod decide;
pub mod figures;
pub mod round;
pub mod solve;
pub mod why;

pub use self::{
    decide::{Decision, Tuning, decide},
    figures::{Figures, figures},
    round::round,
    solve::{FlowRow, Flows, MOST_MOVED, solve},
    why::{LeavingPart, LeavingRow, PartReason, why},
};
