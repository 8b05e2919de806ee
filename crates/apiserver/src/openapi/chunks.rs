//! The body of a response in chunks that are shared with a cache: sending it copies nothing.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    vec,
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// A body in chunks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    chunks: Vec<Bytes>,
}

/// The chunks not yet sent.
#[derive(Debug)]
struct Sending {
    chunks: vec::IntoIter<Bytes>,
    left: u64,
}

// === impl Chunks ===

impl Chunks {
    /// All in one piece.
    #[cfg(test)]
    pub(crate) fn concat(&self) -> Vec<u8> {
        self.chunks.concat()
    }
}

impl From<Vec<Bytes>> for Chunks {
    fn from(chunks: Vec<Bytes>) -> Chunks {
        Chunks { chunks }
    }
}

impl From<Bytes> for Chunks {
    fn from(whole: Bytes) -> Chunks {
        Chunks { chunks: vec![whole] }
    }
}

impl From<Chunks> for axum::body::Body {
    fn from(Chunks { chunks }: Chunks) -> axum::body::Body {
        let left = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        axum::body::Body::new(Sending { chunks: chunks.into_iter(), left })
    }
}

// === impl Sending ===

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.chunks.next();
        self.left -= next.as_ref().map_or(0, |chunk| chunk.len() as u64);
        Poll::Ready(next.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
