//! How the seats of the server are divided among the priority levels: by configuration
//! ([`nominal`]), and every few seconds by what each level needs ([`demand`], [`adjust`],
//! [`allocate`]).

pub mod adjust;
pub mod allocate;
pub mod demand;
pub mod nominal;

/// The limits of one priority level, in seats.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Limits {
    /// The nominal limit.
    pub nominal: u32,
    /// What is left if everything lendable is lent.
    pub min: u32,
    /// The limit when it borrows the maximum.
    pub max: u32,
    /// The maximum number of seats that one request may be estimated at; only for levels that queue.
    pub max_seats: Option<u32>,
    /// The limit in force.
    pub current: u32,
}

impl Limits {
    /// The same limits with another one in force, for a level that existed before the configuration
    /// changed.
    pub fn with_current(self, current: u32) -> Self {
        Limits { current, ..self }
    }
}
