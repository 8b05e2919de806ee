//! Who may write, and who believes so.
//!
//! A lease does not fence: the process that lost it learns of it late, and may meanwhile act beside
//! the new holder.

use std::time::Duration;

use crate::sim::Rng;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    pub holder: Option<usize>,
}

/// When the two processes concerned learn of a change, from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Nobody, if the lease was free or its holder is gone.
    pub loser: Option<(usize, Duration)>,
    pub winner: (usize, Duration),
}

impl Lease {
    /// Gives the lease to `winner`. Half of the time both believe they hold it for a while.
    pub fn pass(&mut self, winner: usize, rng: &mut Rng) -> Handover {
        let loser = self.holder.filter(|&holder| holder != winner);
        self.holder = Some(winner);
        let (sooner, later) = (rng.millis(0, 2_000), rng.millis(0, 15_000));
        if rng.chance(500) {
            Handover { loser: loser.map(|it| (it, sooner)), winner: (winner, sooner + later) }
        } else {
            Handover { loser: loser.map(|it| (it, sooner + later)), winner: (winner, sooner) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_is_passed_on_has_one_holder_and_sometimes_two_believers() {
        let mut rng = Rng::new(1);
        let mut both = 0;
        for _ in 0..100 {
            let mut lease = Lease { holder: Some(0) };
            let handover = lease.pass(1, &mut rng);
            assert_eq!(lease.holder, Some(1));
            let (loser, told) = handover.loser.expect("process 0 had it");
            assert_eq!((loser, handover.winner.0), (0, 1));
            both += usize::from(told > handover.winner.1);
        }
        assert!((20..80).contains(&both), "{both} of 100");
        assert_eq!(Lease { holder: Some(1) }.pass(1, &mut rng).loser, None);
    }
}
