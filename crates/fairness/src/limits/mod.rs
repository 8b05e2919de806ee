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
    /// What the configuration assigns.
    pub nominal: u32,
    /// What is left if others borrow all that is lendable.
    pub min: u32,
    /// What it may have if it borrows all that it may.
    pub max: u32,
    /// How many seats the estimate of one request may reach; levels that queue only.
    pub max_seats: Option<u32>,
    /// What is in force.
    pub current: u32,
}

impl Limits {
    /// The same limits with another one in force, where the configuration changed but the level
    /// did not begin anew.
    pub fn with_current(self, current: u32) -> Self {
        Limits { current, ..self }
    }
}
