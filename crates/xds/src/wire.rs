//! The few parts of the protobuf encoding that are written by hand: where bytes that are encoded already
//! are copied into a message, and where the order of a map must not depend on a hash.

use bytes::BufMut;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

/// Fields of `google.protobuf.Any`.
pub(crate) const ANY_TYPE_URL: u32 = 1;
pub(crate) const ANY_VALUE: u32 = 2;

/// Length of an `Any` with a body of this length.
pub(crate) fn any_len(type_url: &str, body: usize) -> usize {
    bytes_len(ANY_TYPE_URL, type_url.len()) + bytes_len(ANY_VALUE, body)
}

/// Length of a field of text, bytes or an embedded message.
pub(crate) fn bytes_len(field: u32, len: usize) -> usize {
    key_len(field) + encoded_len_varint(len as u64) + len
}

/// A field of text, bytes or an embedded message.
pub(crate) fn put_bytes(out: &mut impl BufMut, field: u32, bytes: &[u8]) {
    put_head(out, field, bytes.len());
    out.put_slice(bytes);
}

/// The beginning of such a field, if what it holds is written piece by piece.
pub(crate) fn put_head(out: &mut impl BufMut, field: u32, len: usize) {
    encode_key(field, WireType::LengthDelimited, out);
    encode_varint(len as u64, out);
}

/// A field of a number or of an enumeration.
pub(crate) fn put_number(out: &mut impl BufMut, field: u32, number: u64) {
    encode_key(field, WireType::Varint, out);
    encode_varint(number, out);
}
