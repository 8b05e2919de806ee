//! Whatever happens in whatever order, the view, its changes and the deltas of selection lead to what
//! merging and selecting from scratch would give.

use proptest::prelude::*;

use crate::{
    generate::{Step, steps, viewpoint},
    replay::Replay,
};

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(1000), ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn changes_lead_to_what_selection_from_scratch_gives(from in viewpoint(), steps in steps()) {
        let mut replay = Replay::new(from);
        for step in steps.into_iter().chain([Step::Look]) {
            replay.step(step)?;
        }
    }
}
