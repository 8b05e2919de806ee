//! The body of a response stream: gRPC messages, written piece by piece as the client takes them.
//!
//! tonic's encoder makes each message one buffer before its first byte leaves; with thousands of clients that
//! connect at once, those buffers are thousands of copies of the whole mesh. Here a message stays a
//! list of shared resources until the transport has room for its next piece. Fields of a message may be concatenated,
//! so that each piece is a message of its own with a part of the resources; what stands in
//! each of them is equal in all.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{BufMut as _, Bytes, BytesMut};
use evenkeel_xds::Response;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame};
use tokio::sync::mpsc;
use tonic::Status;

use crate::metrics::Metrics;

/// A piece ends with the resource that reaches this. It is the size of a frame of HTTP/2.
const PIECE: usize = 16 * 1024;

/// What precedes a message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// What a stream hands to its transport.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// In a place of its own: the queue has one for each of 32 messages, whatever its bound.
    Response(Box<Response>),
    End(Status),
}

/// The body of the answer to a request. The default is empty.
#[derive(Debug, Default)]
pub(crate) struct AdsBody(State);

#[derive(Debug, Default)]
enum State {
    Open {
        outgoing: mpsc::Receiver<Outgoing>,
        writing: Option<Pieces>,
        metrics: Arc<Metrics>,
    },
    #[default]
    Ended,
}

/// A response, and how far it is written.
#[derive(Debug)]
struct Pieces {
    response: Response,
    is_begun: bool,
    /// Resources that are written.
    written: usize,
}

// === impl AdsBody ===

impl AdsBody {
    pub(super) fn new(outgoing: mpsc::Receiver<Outgoing>, metrics: Arc<Metrics>) -> Self {
        Self(State::Open { outgoing, writing: None, metrics })
    }
}

impl Body for AdsBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let State::Open { outgoing, writing, metrics } = &mut self.0 else {
            return Poll::Ready(None);
        };
        loop {
            if let Some(pieces) = writing {
                if let Some(piece) = pieces.next() {
                    metrics.sent_bytes(piece.len());
                    return Poll::Ready(Some(Ok(Frame::data(piece))));
                }
                *writing = None;
            }
            let status = match ready!(outgoing.poll_recv(context)) {
                Some(Outgoing::Response(response)) => {
                    *writing = Some(Pieces::new(*response));
                    continue;
                }
                Some(Outgoing::End(status)) => status,
                // The task ended without a word, which is a defect.
                None => Status::internal("the stream failed"),
            };
            self.0 = State::Ended;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers(&status)))));
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, State::Ended)
    }
}

fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    if status.add_header(&mut trailers).is_err() {
        trailers.insert("grpc-status", HeaderValue::from_static("13"));
    }
    trailers
}

// === impl Pieces ===

impl Pieces {
    fn new(response: Response) -> Self {
        Self { response, is_begun: false, written: 0 }
    }

    fn next(&mut self) -> Option<Bytes> {
        let n_resources = self.response.resources.len();
        if self.is_begun && self.written == n_resources {
            // What is written needs no place until the next response comes.
            self.response.resources = Vec::new();
            self.written = 0;
            return None;
        }
        let part = self.part(self.written);
        let mut piece = BytesMut::with_capacity(PREFIX + part.encoded_len());
        if !self.is_begun {
            let len = u32::try_from(self.encoded_len()).unwrap_or(u32::MAX);
            piece.put_u8(0);
            piece.put_u32(len);
            self.is_begun = true;
        }
        part.encode_into(&mut piece);
        self.written += part.resources.len();
        Some(piece.freeze())
    }

    /// Of all pieces together.
    fn encoded_len(&self) -> usize {
        let (mut from, mut len) = (0, 0);
        loop {
            let part = self.part(from);
            len += part.encoded_len();
            from += part.resources.len();
            if from == self.response.resources.len() {
                return len;
            }
        }
    }

    /// The piece that begins with this resource. What is removed is in the last one.
    fn part(&self, from: usize) -> Response {
        let rest = &self.response.resources[from..];
        let mut len = 0;
        let fits = |resource: &&Arc<evenkeel_xds::Resource>| {
            let has_room = len < PIECE;
            len += resource.any().len() + resource.name().len();
            has_room
        };
        let resources: Vec<_> = rest.iter().take_while(fits).cloned().collect();
        let is_last = resources.len() == rest.len();
        let removed = if is_last { self.response.removed.clone() } else { Vec::new() };
        let Response { variant, kind, nonce, version, tainted, .. } = self.response;
        Response { variant, kind, nonce, version, tainted, resources, removed }
    }
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::service::discovery::v3::{
        DeltaDiscoveryResponse, DiscoveryResponse,
    };
    use evenkeel_xds::{Nonce, Resource, ResourceType, Variant, Version};
    use prost::Message as _;

    use super::*;

    fn response(variant: Variant, sizes: &[usize]) -> Response {
        let resource = |(n, size): (usize, &usize)| {
            let name = format!("r{n:04}").as_str().into();
            Arc::new(Resource::new(ResourceType::Endpoint, name, &vec![7; *size]))
        };
        let removed = match variant {
            Variant::Incremental => vec!["gone".into(), "away".into()],
            Variant::StateOfTheWorld => vec![],
        };
        Response {
            variant,
            kind: ResourceType::Endpoint,
            nonce: Nonce(7),
            version: Version::of(ResourceType::Endpoint, "x", b"y"),
            tainted: false,
            resources: sizes.iter().enumerate().map(resource).collect(),
            removed,
        }
    }

    fn message(response: &Response) -> (Vec<Bytes>, Vec<u8>) {
        let mut pieces = Pieces::new(response.clone());
        let pieces: Vec<Bytes> = std::iter::from_fn(|| pieces.next()).collect();
        let all: Vec<u8> = pieces.concat();
        assert_eq!(all[0], 0);
        let len = u32::from_be_bytes(all[1..5].try_into().unwrap()) as usize;
        assert_eq!(len, all.len() - PREFIX);
        (pieces, all[PREFIX..].to_vec())
    }

    #[test]
    fn pieces_together_are_the_message() {
        for sizes in [&[][..], &[10], &[0, 40_000, 3], &[900; 100], &[16 * 1024; 3]] {
            let sotw = response(Variant::StateOfTheWorld, sizes);
            let (_, bytes) = message(&sotw);
            let read = DiscoveryResponse::decode(&bytes[..]).unwrap();
            assert_eq!(read, DiscoveryResponse::decode(sotw.encode()).unwrap());

            let delta = response(Variant::Incremental, sizes);
            let (_, bytes) = message(&delta);
            let read = DeltaDiscoveryResponse::decode(&bytes[..]).unwrap();
            assert_eq!(read, DeltaDiscoveryResponse::decode(delta.encode()).unwrap());
            assert_eq!(read.removed_resources.len(), 2);
        }
    }

    #[test]
    fn a_large_response_is_many_small_pieces() {
        let (pieces, _) = message(&response(Variant::Incremental, &[500; 2_000]));
        assert!(pieces.len() > 50);
        assert!(pieces.iter().all(|piece| piece.len() < 2 * PIECE));
    }
}
