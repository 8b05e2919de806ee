//! Watch events in formats that must be encoded (protobuf, tables, metadata only, another kind's
//! names), encoded once for all watchers.
//!
//! Whole objects in JSON don't need this: their bytes are stored. A bounded cache of the latest
//! events, by change and format; later watchers encode their own.

use std::collections::VecDeque;

use bytes::Bytes;
use evenkeel_store::Revision;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::{
    kinds::Text,
    negotiate::{Media, Shape},
    table::IncludeObject,
};

const MOST_LINES: usize = 1024;
const MOST_BYTES: usize = 8 << 20;

/// The key of a line: the kind as shown, the event and its revision, and the format.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Line {
    pub(crate) group: Text,
    pub(crate) version: Text,
    pub(crate) plural: Text,
    /// Of the schema of a custom resource.
    pub(crate) fingerprint: Text,
    pub(crate) what: &'static str,
    pub(crate) revision: Revision,
    pub(crate) media: Media,
    pub(crate) shape: Shape,
    pub(crate) include: IncludeObject,
    /// A table without its columns.
    pub(crate) headless: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Encoded(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    lines: FxHashMap<Line, Bytes>,
    order: VecDeque<Line>,
    bytes: usize,
}

impl Encoded {
    /// The line, encoded if it is not cached. Encoded under the lock, so that a thousand watchers
    /// that wake at once wait for one encoding instead of each doing it.
    pub(crate) fn line(&self, line: Line, make: impl FnOnce() -> Bytes) -> Bytes {
        let mut kept = self.0.lock();
        if let Some(bytes) = kept.lines.get(&line) {
            return bytes.clone();
        }
        let bytes = make();
        kept.keep(line, bytes.clone());
        bytes
    }
}

impl Lines {
    fn keep(&mut self, line: Line, bytes: Bytes) {
        self.bytes += bytes.len();
        self.order.push_back(line.clone());
        self.lines.insert(line, bytes);
        while self.order.len() > MOST_LINES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.lines.remove(&oldest).map_or(0, |bytes| bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::fixed;

    fn line(revision: Revision) -> Line {
        Line {
            group: fixed(""),
            version: fixed("v1"),
            plural: fixed("pods"),
            fingerprint: fixed(""),
            what: "ADDED",
            revision,
            media: Media::Json,
            shape: Shape::Partial("v1"),
            include: IncludeObject::Metadata,
            headless: false,
        }
    }

    #[test]
    fn a_line_is_encoded_once_and_old_ones_are_evicted() {
        let encoded = Encoded::default();
        let mut made = 0;
        for revision in [1, 1, 2, 1] {
            encoded.line(line(revision), || {
                made += 1;
                Bytes::from_static(b"x")
            });
        }
        assert_eq!(made, 2);
        for revision in 0..5_000 {
            encoded.line(line(revision), || Bytes::from(vec![0; 10_000]));
        }
        let kept = encoded.0.lock();
        assert!(kept.order.len() <= MOST_LINES && kept.bytes <= MOST_BYTES);
        assert_eq!(kept.lines.len(), kept.order.len());
    }
}
