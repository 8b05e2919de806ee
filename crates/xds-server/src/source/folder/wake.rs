//! Looks at a folder whenever something happens in it, and twice a second whatever happens.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs, io,
    mem::MaybeUninit,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    },
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
    let mut events = Events::of(&path).inspect_err(|error| {
        tracing::info!(folder = %path.display(), %error, "folder is looked at twice a second only");
    });
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
        if !is_failing && !events.as_ref().is_ok_and(|events| events.are_of(&path)) {
            events = Events::of(&path);
            if events.is_ok() {
                // Nothing said what happened in it before.
                closed = BTreeSet::new();
                continue;
            }
        }
        closed = match &events {
            Ok(events) => timeout(pause, events.next()).await.unwrap_or_default(),
            Err(_) => {
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
struct Events {
    inotify: AsyncFd<OwnedFd>,
    /// The folder, which may not be the one that is at its path by now.
    folder: FolderId,
}

/// Device and inode: another folder of the same name has others.
#[derive(Debug, PartialEq, Eq)]
struct FolderId(u64, u64);

// === impl Events ===

impl Events {
    fn of(path: &Path) -> io::Result<Self> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let changes = WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::CREATE;
        let folder = FolderId::of(path)?;
        inotify::add_watch(&fd, path, changes | WatchFlags::ONLYDIR)?;
        #[expect(
            deprecated,
            reason = "what replaces it is unsafe; the descriptor is owned by the result"
        )]
        AsyncFd::new(fd).map(|inotify| Self { inotify, folder })
    }

    /// False once the folder was replaced by another one of its name. The kernel reports nothing of that one.
    fn are_of(&self, path: &Path) -> bool {
        FolderId::of(path).is_ok_and(|folder| folder == self.folder)
    }

    /// Waits for something, and returns the names that are complete since.
    async fn next(&self) -> BTreeSet<OsString> {
        let Ok(mut ready) = self.inotify.readable().await else {
            sleep(LOOK).await;
            return BTreeSet::new();
        };
        let names = complete(self.inotify.get_ref());
        ready.clear_ready();
        names
    }
}

// === impl FolderId ===

impl FolderId {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self(metadata.dev(), metadata.ino()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_replaced_is_another_one() {
        let path = std::env::temp_dir().join(format!("evenkeel-wake-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let before = FolderId::of(&path).unwrap();
        fs::write(path.join("a.yaml"), "").unwrap();
        assert_eq!(FolderId::of(&path).unwrap(), before);
        let away = path.with_extension("away");
        fs::rename(&path, &away).unwrap();
        assert!(FolderId::of(&path).is_err());
        fs::create_dir(&path).unwrap();
        assert_ne!(FolderId::of(&path).unwrap(), before);
        fs::remove_dir_all(&path).unwrap();
        fs::remove_dir_all(&away).unwrap();
    }
}
