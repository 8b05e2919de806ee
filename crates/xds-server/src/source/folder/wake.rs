//! Looks at a folder whenever something happens in it, and twice a second whatever happens.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use tokio::{
    io::unix::AsyncFd,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::Folder;
use crate::control::Control;

/// Also finds what the kernel does not report, such as changes behind links.
const LOOK: Duration = Duration::from_millis(500);
const LOOK_SOON: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Keeps the control plane equal to a folder until `stop`. It is synced after the first look at files
/// that nobody is writing.
pub(crate) async fn watch(
    control: Arc<Control>,
    folder: Arc<Mutex<Folder>>,
    stop: CancellationToken,
) {
    let _ = stop.run_until_cancelled(follow(control, folder)).await;
}

async fn follow(control: Arc<Control>, folder: Arc<Mutex<Folder>>) {
    let path = folder.lock().path.clone();
    let events = Events::of(&path);
    if let Err(error) = &events {
        tracing::info!(folder = %path.display(), %error, "folder is looked at twice a second only");
    }
    let events = events.ok();
    let mut closed = BTreeSet::new();
    let mut is_failing = false;
    loop {
        let begun = Instant::now();
        let (control, folder) = (Arc::clone(&control), Arc::clone(&folder));
        // Reading and computing may take long, and the other tasks are not to wait for it.
        let looked = tokio::task::spawn_blocking(move || look(&control, &folder, &closed));
        let pause = match looked.await {
            // Its panic was shown; where this task is supervised it is started again.
            Err(_) => return,
            Ok(Ok(pause)) => {
                is_failing = false;
                pause
            }
            Ok(Err(error)) => {
                if !is_failing {
                    tracing::warn!(folder = %path.display(), %error, "folder cannot be read, retrying");
                }
                is_failing = true;
                LOOK
            }
        };
        // Under load, as long as the last look took, so that changes share looks.
        sleep(begun.elapsed().min(LONGEST_PAUSE)).await;
        closed = match &events {
            Some(events) => timeout(pause, events.next()).await.unwrap_or_default(),
            None => {
                sleep(pause).await;
                BTreeSet::new()
            }
        };
    }
}

/// Returns when to look again if nothing happens.
fn look(
    control: &Control,
    folder: &Mutex<Folder>,
    closed: &BTreeSet<OsString>,
) -> io::Result<Duration> {
    let received = control.clock.now();
    let mut folder = folder.lock();
    let scan = folder.scan(SystemTime::now(), closed);
    let scan = scan.inspect_err(|_| control.metrics.source_failed())?;
    control.apply(received, scan.updates);
    if scan.problems_changed {
        control.set_problems(folder.problems());
    }
    if scan.is_unsettled {
        return Ok(LOOK_SOON);
    }
    control.set_synced();
    Ok(LOOK)
}

/// What the kernel reports of a folder.
struct Events(AsyncFd<OwnedFd>);

// === impl Events ===

impl Events {
    fn of(path: &Path) -> io::Result<Self> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let changes = WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::CREATE;
        inotify::add_watch(&fd, path, changes | WatchFlags::ONLYDIR)?;
        #[expect(
            deprecated,
            reason = "what replaces it is unsafe; the descriptor is owned by the result"
        )]
        AsyncFd::new(fd).map(Self)
    }

    /// Waits for something, and returns the names that are complete since.
    async fn next(&self) -> BTreeSet<OsString> {
        let Ok(mut ready) = self.0.readable().await else {
            sleep(LOOK).await;
            return BTreeSet::new();
        };
        let names = complete(self.0.get_ref());
        ready.clear_ready();
        names
    }
}

fn complete(fd: &OwnedFd) -> BTreeSet<OsString> {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut reader = Reader::new(fd, &mut buffer);
    let mut names = BTreeSet::new();
    while let Ok(event) = reader.next() {
        if event.events().intersects(ReadFlags::CLOSE_WRITE | ReadFlags::MOVED_TO)
            && let Some(name) = event.file_name()
        {
            names.insert(OsStr::from_bytes(name.to_bytes()).to_owned());
        }
    }
    names
}
