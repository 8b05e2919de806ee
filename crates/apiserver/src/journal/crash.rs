//! Rounds of writes with power failures, kills, failing syncs and a full disk, checked against a
//! sequential model. `EVENKEEL_SEED=N` runs one round.

mod model;

use std::sync::Arc;

use evenkeel_store::{
    batch::{Expect, NewObject, Write},
    history,
    journal::{Journal, JournalError},
    object::ResourceId,
    state::State,
};
use parking_lot::RwLock;

use self::model::Model;
use super::{
    files::Files,
    log::{Background, Limits, Log},
    simulated::{Chance, Disk, Faults},
};
use crate::writer::{Committer, WriteError, WriteResult};

const ROUNDS: u64 = 10_000;
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
    let names = ["configmaps", "deployments.apps"].map(Box::from).to_vec();
    let mut journal = Log::new(disk.clone(), names, SMALL);
    let mut state = State::new(2, history::Limits { changes: RETAINED, bytes: usize::MAX });
    match journal.replay(&mut |replayed| state.replay(replayed)) {
        Ok(()) => {}
        Err(error @ (JournalError::Io { .. } | JournalError::Full { .. })) => {
            return Ok(Ended::AtStart(error));
        }
        Err(error) => return Err(error.to_string()),
    }
    met.kept_unanswered += u64::from(model.recovered(&state, RETAINED)?);
    met.forgotten += u64::from(model.has_forgotten(RETAINED));
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
        let writes: Vec<Write> =
            (0..chance.below(4) + 1).map(|_| random_write(chance, &state.read())).collect();
        let answers = committer.commit(writes.iter().cloned());
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
    writes: &[Write],
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
    model.unanswered(writes);
    model.unanswered_deletes(writes);
    let taken = writes.iter().zip(answers).filter(|(_, answer)| answer.is_ok());
    let (writes, answers): (Vec<_>, Vec<_>) =
        taken.map(|(write, answer)| (write.clone(), answer.clone())).unzip();
    if let Some(write) = writes.iter().find(|write| write.object.is_some()) {
        return Err(format!("{write:?} was taken on a full disk"));
    }
    met.reserved += answers.len() as u64;
    model.answered(&writes, &answers).map(|()| is_full)
}

fn is_snapshot(name: &str) -> bool {
    name.starts_with("snapshot-") && !name.ends_with(".new")
}

fn random_write(chance: &mut Chance, state: &State) -> Write {
    let resource = ResourceId(chance.below(2) as u16);
    let key: Box<str> = format!("default/name-{}", chance.below(6)).into();
    let known = state.object(resource, &key).map_or(0, |object| object.revision);
    let expect = match chance.below(7) {
        0 | 1 => Expect::Absent,
        2 => Expect::Revision(known.saturating_sub(1)),
        // The revision that the first write of the batch may have created.
        3 => Expect::Revision(state.revision() + 1),
        _ if known == 0 => Expect::Absent,
        _ => Expect::Revision(known),
    };
    let length = if chance.one_in(10) { chance.below(6000) } else { chance.below(600) };
    let fill = b'a' + chance.below(3) as u8;
    let object = (!chance.one_in(4)).then(|| NewObject {
        labels: [("app".into(), format!("{}", chance.below(9)).into())].into(),
        fields: ["Running".into(), "node-1".into()].into(),
        encoded: vec![fill; if chance.one_in(5) { 1 } else { length as usize }].into(),
    });
    Write { resource, key, expect, object }
}
