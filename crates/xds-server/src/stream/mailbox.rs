//! What a stream has to be told and has not taken yet. Bounded: lists of names are shared by all streams
//! that are told the same, and past a number of them "anything may have changed" takes their place.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{engine::Changed, propagation::KEPT};

/// Notices that are kept one by one.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    mail: Mutex<Mail>,
    arrived: Notify,
}

/// A change, and what of it concerns the proxy.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    pub(crate) change: u64,
    pub(crate) changed: Arc<[Changed]>,
}

#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) notices: Vec<Notice>,
    /// Changes whose names are lost, at most as many as are followed.
    pub(crate) lost: Vec<u64>,
}

// === impl Mailbox ===

impl Mailbox {
    pub(crate) fn put(&self, notice: Notice) {
        let mut mail = self.mail.lock();
        if mail.notices.len() < MOST && mail.lost.is_empty() {
            mail.notices.push(notice);
        } else {
            let Mail { notices, lost } = &mut *mail;
            lost.extend(notices.drain(..).map(|notice| notice.change));
            lost.push(notice.change);
            let excess = lost.len().saturating_sub(KEPT);
            lost.drain(..excess);
        }
        drop(mail);
        self.arrived.notify_one();
    }

    /// Waits until there is something. Dropping the future loses nothing.
    pub(crate) async fn take(&self) -> Mail {
        loop {
            let mail = std::mem::take(&mut *self.mail.lock());
            if !mail.is_empty() {
                return mail;
            }
            self.arrived.notified().await;
        }
    }

    /// All that was not taken.
    pub(crate) fn close(&self) -> Vec<u64> {
        let Mail { notices, mut lost } = std::mem::take(&mut *self.mail.lock());
        lost.extend(notices.into_iter().map(|notice| notice.change));
        lost
    }
}

// === impl Mail ===

impl Mail {
    fn is_empty(&self) -> bool {
        self.notices.is_empty() && self.lost.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_mailbox_nobody_empties_stays_small_and_forgets_no_new_change() {
        let mailbox = Mailbox::default();
        let changed: Arc<[Changed]> = Arc::new([]);
        for change in 1..=10_000 {
            mailbox.put(Notice { change, changed: Arc::clone(&changed) });
        }
        let mail = mailbox.take().await;
        assert!(mail.notices.is_empty());
        assert_eq!((mail.lost.len(), mail.lost.last()), (KEPT, Some(&10_000)));
        mailbox.put(Notice { change: 10_001, changed });
        assert_eq!(mailbox.take().await.notices.len(), 1);
    }
}
