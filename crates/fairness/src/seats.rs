//! How many seats a request takes, and for how long.

use std::time::Duration;

/// The seats of one request: `initial_seats` while it runs, `final_seats` for `additional_latency`
/// after its response is complete, for work that it leaves behind.
///
/// It occupies the greater of the two numbers from dispatch until the end of both.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Width {
    pub initial_seats: u32,
    pub final_seats: u32,
    pub additional_latency: Duration,
}

impl Width {
    /// One seat, and none afterwards, as for most requests.
    pub const ONE: Width = Width::seats(1);

    /// This number of seats, and none afterwards.
    pub const fn seats(initial_seats: u32) -> Self {
        Width { initial_seats, final_seats: 0, additional_latency: Duration::ZERO }
    }

    /// The seats that are occupied throughout.
    pub const fn max_seats(&self) -> u32 {
        if self.initial_seats >= self.final_seats { self.initial_seats } else { self.final_seats }
    }
}

impl Default for Width {
    fn default() -> Self {
        Width::ONE
    }
}
