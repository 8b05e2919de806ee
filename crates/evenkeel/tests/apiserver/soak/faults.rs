//! Faults around the server: the disk gets full, and the process ends.

use std::{
    fs,
    io::Write,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use tokio::time::{sleep, sleep_until};

use super::Life;
use crate::kill::model::Chance;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Kill,
    Stop,
}

pub(super) fn end(life: Life, end: End) {
    match end {
        End::Kill => life.cluster.server.kill(),
        End::Stop => life.cluster.server.stop(),
    }
}

/// Long enough for health to fail, and to recover.
const FULL: Duration = Duration::from_secs(4);
const BETWEEN: Duration = Duration::from_secs(20);
const AGAIN: Duration = Duration::from_millis(100);

/// Occasionally there is no space for a while. There always is again before the end of a run, since
/// the server does not start on a full disk.
pub(super) async fn fill_the_disk(life: &Life, until: Instant, mut chance: Chance) {
    let data = &life.cluster.server.data;
    let ballast = data.with_file_name("ballast");
    let mut next = Instant::now() + Duration::from_millis(500 + chance.below(1500));
    while next + FULL < until {
        sleep_until(next.into()).await;
        let mut file = fs::File::create(&ballast).unwrap();
        occupy(&mut file);
        life.disk.is_full();
        life.totals.full_disks.fetch_add(1, Ordering::Relaxed);
        // Space that the server frees is taken as well.
        while Instant::now() < next + FULL {
            occupy(&mut file);
            sleep(AGAIN).await;
        }
        fs::remove_file(&ballast).unwrap();
        life.disk.has_space();
        let between = u64::try_from(BETWEEN.as_millis()).unwrap_or(u64::MAX);
        next += FULL + BETWEEN + Duration::from_millis(chance.below(between));
    }
    sleep_until(until.into()).await;
}

/// Takes all remaining space.
fn occupy(file: &mut fs::File) {
    while file.write_all(&[1; 64 << 10]).is_ok() {}
    while file.write_all(&[1; 4096]).is_ok() {}
}
