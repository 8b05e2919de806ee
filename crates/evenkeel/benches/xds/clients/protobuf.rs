//! The few fields of requests and responses that a client needs.

/// What a response says, as far as it is read. Names borrow from it.
#[derive(Debug, Default)]
pub(super) struct Response<'a> {
    pub(super) type_url: &'a [u8],
    pub(super) nonce: &'a [u8],
    pub(super) names: Vec<&'a [u8]>,
}

/// Fields of `DeltaDiscoveryRequest`.
mod request {
    pub(super) const NODE: u32 = 1;
    pub(super) const TYPE_URL: u32 = 2;
    pub(super) const SUBSCRIBE: u32 = 3;
    pub(super) const NONCE: u32 = 6;
    pub(super) const NODE_ID: u32 = 1;
}

/// Fields of `DeltaDiscoveryResponse`, and of the `Resource` in it.
mod response {
    pub(super) const RESOURCES: u32 = 2;
    pub(super) const TYPE_URL: u32 = 4;
    pub(super) const NONCE: u32 = 5;
    pub(super) const RESOURCE_NAME: u32 = 3;
}

const LENGTH_DELIMITED: u32 = 2;

/// Appends a request, with the prefix that gRPC gives it.
pub(super) fn request<'a>(
    out: &mut Vec<u8>,
    node: Option<&str>,
    type_url: &[u8],
    subscribe: impl IntoIterator<Item = &'a [u8]>,
    nonce: &[u8],
) {
    let begin = out.len();
    out.extend_from_slice(&[0; 5]);
    if let Some(id) = node {
        let mut node = Vec::new();
        put(&mut node, request::NODE_ID, id.as_bytes());
        put(out, request::NODE, &node);
    }
    put(out, request::TYPE_URL, type_url);
    for name in subscribe {
        put(out, request::SUBSCRIBE, name);
    }
    if !nonce.is_empty() {
        put(out, request::NONCE, nonce);
    }
    let len = u32::try_from(out.len() - begin - 5).unwrap_or(u32::MAX);
    out[begin + 1..begin + 5].copy_from_slice(&len.to_be_bytes());
}

/// `None` if it is not one.
pub(super) fn read(message: &[u8]) -> Option<Response<'_>> {
    let mut read = Response::default();
    let mut rest = message;
    while let Some((field, value)) = next(&mut rest)? {
        match field {
            response::TYPE_URL => read.type_url = value,
            response::NONCE => read.nonce = value,
            response::RESOURCES => read.names.push(name(value)?),
            _ => {}
        }
    }
    Some(read)
}

fn name(mut resource: &[u8]) -> Option<&[u8]> {
    let mut name: &[u8] = &[];
    while let Some((field, value)) = next(&mut resource)? {
        if field == response::RESOURCE_NAME {
            name = value;
        }
    }
    Some(name)
}

/// The next field. All that we are sent are length-delimited.
#[expect(clippy::option_option, reason = "not readable, or at its end")]
fn next<'a>(rest: &mut &'a [u8]) -> Option<Option<(u32, &'a [u8])>> {
    if rest.is_empty() {
        return Some(None);
    }
    let tag = varint(rest)?;
    if tag & 7 != LENGTH_DELIMITED {
        return None;
    }
    let len = varint(rest)? as usize;
    let (value, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(Some((tag >> 3, value)))
}

fn varint(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn put(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    put_varint(out, field << 3 | LENGTH_DELIMITED);
    put_varint(out, u32::try_from(value.len()).unwrap_or(u32::MAX));
    out.extend_from_slice(value);
}

fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
