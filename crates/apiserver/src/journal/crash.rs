//! Rounds of writes with power failures, kills, failing syncs and a full disk, while kinds are
//! defined and removed, checked against a sequential model. `EVENKEEL_SEED=N` runs one round.

mod kinds;
mod model;

use std::sync::Arc;

use evenkeel_store::{
    history,
    journal::{Journal, JournalError},
    state::State,
};
use parking_lot::RwLock;

use self::{
    kinds::Kinds,
    model::{Model, Named},
};
use super::{
    files::Files,
    log::{Background, Limits, Log},
    names::Names,
    simulated::{Chance, Disk, Faults},
};
use crate::writer::{Committer, WriteError, WriteResult};

const ROUNDS: u64 = 10_000;
const BUILT_IN: [&str; 2] = ["configmaps", "deployments.apps"];
/// Those that come and go while the journal is written.
const CUSTOM: [&str; 6] = [
    "apples.example.com",
    "bananas.example.com",
    "cherries.example.com",
    "dates.a.very.long.group.of.the.example.com",
    "elderberries.example.com",
    "figs.example.com",
];
/// Changes that watches can resume from.
const RETAINED: usize = 16;

const SMALL: Limits = Limits {
    snapshot_after: 6 << 10,
    frame: 1 << 10,
    piece: 3 << 10,
    fill: 2 << 10,
    room: 1 << 10,
    reserve: 2 << 10,
    background: Background::Steps,
};

/// Counts of what occurred in all rounds, to prove that the rounds test something.
#[derive(Clone, Copy, Debug, Default)]
struct Occurrences {
    acknowledged: u64,
    cuts: u64,
    cuts_at_start: u64,
    failed_syncs: u64,
    full: u64,
    /// Deletes that were accepted on a full disk.
    reserved: u64,
    /// How often a full disk recovered, by a probe or a write, and without history.
    regained: u64,
    forgotten: u64,
    /// Writes that were not answered, and survived.
    kept_unanswered: u64,
    snapshots: u64,
    /// Definitions of kinds, and those of a name that an earlier process wrote and a later one no
    /// longer found.
    defined: u64,
    defined_again: u64,
    /// Deletions of all objects of a kind with its definition.
    undefined: u64,
    /// Batches that failed and had the first change of a kind.
    refused_first: u64,
    /// Kinds that a start found without being built with them, and all that have another id then.
    recovered_names: u64,
    renumbered: u64,
}

/// How a run ended.
enum Ended {
    /// Cleanly, or by a fault.
    Well,
    /// Before it could serve.
    AtStart(JournalError),
}

#[test]
fn what_was_answered_is_there_after_ten_thousand_rounds_of_crashes() {
    if let Ok(seed) = std::env::var("EVENKEEL_SEED") {
        let seed = seed.parse().expect("EVENKEEL_SEED is a number");
        round(seed, Faults::default(), &mut Occurrences::default()).unwrap();
        return;
    }
    let halves = [0..ROUNDS / 2, ROUNDS / 2..ROUNDS].map(|seeds| {
        std::thread::spawn(move || {
            let mut met = Occurrences::default();
            for seed in seeds {
                if let Err(problem) = round(seed, Faults::default(), &mut met) {
                    panic!("EVENKEEL_SEED={seed}: {problem}");
                }
            }
            met
        })
    });
    for half in halves {
        let met = half.join().unwrap();
        println!("{met:?}");
        assert!(met.acknowledged > ROUNDS * 20, "{met:?}");
        let rare = [met.cuts, met.cuts_at_start, met.failed_syncs, met.full, met.kept_unanswered];
        assert!(rare.iter().all(|&n| n > ROUNDS / 50) && met.snapshots > ROUNDS / 8, "{met:?}");
        let kinds = [met.defined_again, met.undefined, met.refused_first, met.renumbered];
        assert!(kinds.iter().all(|&n| n > ROUNDS / 50), "{met:?}");
        assert!(met.defined > ROUNDS && met.recovered_names > ROUNDS / 2, "{met:?}");
        let full = [met.reserved, met.regained, met.forgotten];
        assert!(full.iter().all(|&n| n > ROUNDS / 50), "{met:?}");
    }
}

#[test]
fn without_the_sync_the_same_rounds_report_a_loss() {
    let lying = Faults { lying: true, ..Faults::default() };
    let lying_names = Faults { lying_names: true, ..Faults::default() };
    for faults in [lying, lying_names] {
        let failed =
            (0..100).filter(|&seed| round(seed, faults, &mut Occurrences::default()).is_err());
        assert!(failed.count() > 10, "{faults:?}");
    }
}

/// A few runs on one disk, each ended by a power failure or a kill, and a last check without
/// faults.
fn round(seed: u64, faults: Faults, met: &mut Occurrences) -> Result<(), String> {
    let mut chance = Chance(seed);
    let disk = Disk::new(chance.next());
    let mut model = Model::default();
    for _ in 0..chance.below(3) + 1 {
        let cut_at = Some(chance.below(160) + 1);
        let failing_syncs = if chance.one_in(4) { 12 } else { 0 };
        disk.set(Faults { cut_at, failing_syncs, ..faults });
        let ended = life(&disk, &mut chance, &mut model, met)?;
        met.cuts += u64::from(disk.is_cut());
        met.cuts_at_start += u64::from(disk.is_cut() && matches!(ended, Ended::AtStart(_)));
        if chance.one_in(4) { disk.kill() } else { disk.power_cut() }
    }
    met.failed_syncs += disk.n_failed_syncs();
    disk.set(Faults::default());
    met.snapshots +=
        u64::from(disk.names().is_ok_and(|names| names.iter().any(|n| is_snapshot(n))));
    match life(&disk, &mut chance, &mut model, met)? {
        Ended::Well => Ok(()),
        Ended::AtStart(error) => Err(format!("it did not start without faults: {error}")),
    }
}

fn life(
    disk: &Disk,
    chance: &mut Chance,
    model: &mut Model,
    met: &mut Occurrences,
) -> Result<Ended, String> {
    // As by versions of the program with other tables of kinds.
    let mut names = BUILT_IN;
    names.rotate_left(chance.below(2) as usize);
    let mut journal = Log::new(disk.clone(), Names::new(names), SMALL);
    let mut state = State::new(names, history::Limits { changes: RETAINED, bytes: usize::MAX });
    match journal.replay(&mut |replayed| state.replay(replayed)) {
        Ok(()) => {}
        Err(error @ (JournalError::Io { .. } | JournalError::Full { .. })) => {
            return Ok(Ended::AtStart(error));
        }
        Err(error) => return Err(error.to_string()),
    }
    met.kept_unanswered += u64::from(model.recovered(&state, RETAINED)?);
    met.forgotten += u64::from(model.has_forgotten(RETAINED));
    met.renumbered += model.n_renumbered(&state);
    let mut kinds = Kinds::found(&state);
    met.recovered_names += kinds.defined.len() as u64;
    let state = Arc::new(RwLock::new(state));
    let mut committer = Committer::new(journal, state.clone(), |_| {});
    let mut was_full = false;
    for _ in 0..chance.below(40) {
        match chance.below(24) {
            0 | 1 => {
                disk.set_full(true);
                model.may_forget();
            }
            2..12 => disk.set_full(false),
            _ => {}
        }
        if chance.one_in(5) {
            kinds.define(chance, &mut committer, &state, model, met)?;
        }
        let writes = match chance.one_in(8) {
            true => kinds.undefine(chance, &state.read(), met),
            false => kinds.random_writes(chance, &state.read()),
        };
        let answers = committer.commit(writes.iter().map(|(_, write)| write.clone()));
        let is_full = check(model, &writes, &answers, met)?;
        met.regained += u64::from(was_full && !is_full && !answers.iter().any(Result::is_err));
        was_full = is_full;
        model.same(&state.read(), RETAINED)?;
        if disk.is_cut() {
            return Ok(Ended::Well);
        }
        if chance.one_in(3) {
            committer.probe();
        }
        committer.compact();
    }
    Ok(Ended::Well)
}

/// Returns whether the journal ran out of space.
fn check(
    model: &mut Model,
    writes: &[Named],
    answers: &[WriteResult],
    met: &mut Occurrences,
) -> Result<bool, String> {
    let failure = answers.iter().find_map(|answer| match answer {
        Err(WriteError::Journal(error)) => Some(error),
        _ => None,
    });
    let Some(failure) = failure else {
        met.acknowledged += answers.len() as u64;
        return model.answered(writes, answers).map(|()| false);
    };
    let is_full = matches!(failure, JournalError::Full { .. });
    met.full += u64::from(is_full);
    met.refused_first += u64::from(writes.iter().any(|(name, _)| !model.has_written(name)));
    model.unanswered(writes);
    model.unanswered_deletes(writes);
    let taken = writes.iter().zip(answers).filter(|(_, answer)| answer.is_ok());
    let (writes, answers): (Vec<_>, Vec<_>) =
        taken.map(|(write, answer)| (write.clone(), answer.clone())).unzip();
    if let Some(write) = writes.iter().find(|(_, write)| write.object.is_some()) {
        return Err(format!("{write:?} was taken on a full disk"));
    }
    met.reserved += answers.len() as u64;
    model.answered(&writes, &answers).map(|()| is_full)
}

fn is_snapshot(name: &str) -> bool {
    name.starts_with("snapshot-") && !name.ends_with(".new")
}
