//! Requests of both variants, as they come in.

use std::marker::PhantomData;

use bytes::Buf as _;
use envoy_types::pb::envoy::{
    config::core::v3::Node,
    service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest},
};
use prost::Message;
use tonic::{
    Status,
    codec::{BufferSettings, DecodeBuf, Decoder},
};

/// What is kept for each stream to read into; it grows with what comes. An acknowledgement is smaller.
const BUFFER: usize = 512;

/// A request of a variant of the protocol.
pub(super) trait AdsRequest: Message + Default + Send + 'static {
    /// Who asks; on the first request at least. It is taken out, since it is large.
    fn take_node(&mut self) -> Option<Node>;
}

/// Reads a request, with its size.
#[derive(Debug)]
pub(super) struct RequestDecoder<R>(PhantomData<fn() -> R>);

// === impl AdsRequest ===

impl AdsRequest for DiscoveryRequest {
    fn take_node(&mut self) -> Option<Node> {
        self.node.take()
    }
}

impl AdsRequest for DeltaDiscoveryRequest {
    fn take_node(&mut self) -> Option<Node> {
        self.node.take()
    }
}

// === impl RequestDecoder ===

impl<R> Default for RequestDecoder<R> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<R: AdsRequest> Decoder for RequestDecoder<R> {
    type Item = (R, usize);
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<(R, usize)>, Status> {
        let len = bytes.remaining();
        match R::decode(bytes) {
            Ok(request) => Ok(Some((request, len))),
            Err(error) => Err(Status::invalid_argument(format!("request is not valid: {error}"))),
        }
    }

    fn buffer_settings(&self) -> BufferSettings {
        // The second number concerns encoders.
        BufferSettings::new(BUFFER, BUFFER)
    }
}
