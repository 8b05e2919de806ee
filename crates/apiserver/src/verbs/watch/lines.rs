//! Lines to be sent to a watcher, in chunks.
//!
//! Short ones are copied together; a long text is shared with the store, so that a watcher that
//! does not read holds no copy of it.

use std::collections::VecDeque;

use bytes::{BufMut as _, Bytes, BytesMut};

/// From this length on a text is shared.
const SHARED: usize = 8 << 10;

#[derive(Debug, Default)]
pub(super) struct Lines {
    pieces: VecDeque<Bytes>,
    last: BytesMut,
}

impl Lines {
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.last.put_slice(bytes);
    }

    pub(super) fn put_shared(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARED {
            return self.put(bytes);
        }
        self.close();
        self.pieces.push_back(bytes.clone());
    }

    /// Reserves space for bytes to be copied.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.last.reserve(bytes.min(SHARED));
    }

    pub(super) fn len(&self) -> usize {
        self.last.len() + self.pieces.iter().map(Bytes::len).sum::<usize>()
    }

    /// The next chunk; `None`: nothing is left.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        if self.pieces.is_empty() {
            self.close();
        }
        self.pieces.pop_front()
    }

    fn close(&mut self) {
        if !self.last.is_empty() {
            self.pieces.push_back(self.last.split().freeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_copied_together_and_long_ones_are_shared() {
        let long = Bytes::from(vec![b'x'; SHARED]);
        let mut lines = Lines::default();
        lines.put(b"a");
        lines.put_shared(&Bytes::from_static(b"b"));
        lines.put_shared(&long);
        lines.put(b"c");
        assert_eq!(lines.len(), SHARED + 3);
        assert_eq!(lines.next().as_deref(), Some(&b"ab"[..]));
        let shared = lines.next().expect("the long text");
        assert_eq!(shared.as_ptr(), long.as_ptr());
        assert_eq!(lines.next().as_deref(), Some(&b"c"[..]));
        assert_eq!((lines.next(), lines.len()), (None, 0));
    }
}
