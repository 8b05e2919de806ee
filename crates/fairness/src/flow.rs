//! The flow a request belongs to: its distinguisher, and the hash its hand is dealt from.
//!
//! Kubernetes' hash is the same in every process, so that anyone can search for names whose hand is
//! that of a victim, and fill its queues. Under a secret key that search is
//! not possible. The key is one block before the text: SHA-256 of key, schema, zero byte and
//! distinguisher. What the key's block leaves is computed once, so that a flow costs the same with
//! and without. Such a prefix is a secure key here because 64 of 256 bits are used, which can't be
//! extended, and no client sees any of them.

use std::fmt;

use parking_lot::Mutex;
use regex::CaptureLocations;
use sha2::{Digest, Sha256, block_api::compress256};

use crate::{
    Request,
    config::{Distinguisher, Source, Transform},
};

/// The flow of one request. Flows of different schemas never are the same one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flow<'r> {
    /// Empty where the level does not tell flows apart.
    pub distinguisher: &'r str,
    /// Zero where the level does not tell flows apart.
    pub hash: u64,
}

/// Whether flows are hashed under a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FlowHash {
    /// As in Kubernetes: the same in every process.
    Unkeyed,
    /// Under this key. Without one, as unkeyed: servers generate it, as the layer of `tower-fairness`
    /// does; simulations don't, so that they can be repeated.
    Keyed(Option<FlowKey>),
}

/// A secret of the process.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct FlowKey([u8; 32]);

/// SHA-256 of the schema's name, a zero byte and the distinguisher: the first eight bytes as a
/// little-endian number, as Kubernetes computes it.
pub fn flow_hash(schema: &str, distinguisher: &str) -> u64 {
    FlowHasher::UNKEYED.hash(schema, distinguisher)
}

/// [`flow_hash`], or the same with a key in front.
#[derive(Clone)]
pub struct FlowHasher {
    key: Option<[u8; BLOCK]>,
    /// What SHA-256 has come to after the key.
    state: [u32; 8],
}

/// What distinguishes the flow of this request from others of its schema. An attribute that the transform
/// does not match yields the empty string.
pub fn distinguisher<'r>(of: &Distinguisher, request: &Request<'r>) -> &'r str {
    distinguish(of, of.transform.as_ref().map(Slots::new).as_ref(), request)
}

/// Room for the groups of one transform, made once: capturing then allocates nothing, save when
/// two threads capture with the same transform at the same moment.
#[derive(Debug)]
pub(crate) struct Slots(Mutex<CaptureLocations>);

/// [`distinguisher`] with the room for its transform's groups given.
pub(crate) fn distinguish<'r>(
    of: &Distinguisher,
    slots: Option<&Slots>,
    request: &Request<'r>,
) -> &'r str {
    let transform = of.transform.as_ref().zip(slots);
    let whole = |value: &'r str| match transform {
        Some((transform, slots)) => slots.capture(transform, value),
        None => Some(value),
    };
    let found = match &of.source {
        Source::User => whole(request.user),
        Source::Namespace => whole(request.namespace),
        Source::Group => request.groups.iter().find_map(whole),
        Source::Header(name) => whole(request.header(name)),
    };
    found.unwrap_or("")
}

// === impl FlowKey ===

impl FlowKey {
    /// From random bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        FlowKey(bytes)
    }
}

impl fmt::Debug for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FlowKey(..)")
    }
}

// === impl FlowHasher ===

impl FlowHasher {
    pub const UNKEYED: FlowHasher = FlowHasher { key: None, state: INITIAL };

    pub fn new(hash: FlowHash) -> Self {
        let FlowHash::Keyed(Some(FlowKey(bytes))) = hash else { return FlowHasher::UNKEYED };
        let mut key = [0; BLOCK];
        key[..bytes.len()].copy_from_slice(&bytes);
        let mut state = INITIAL;
        compress256(&mut state, &[key]);
        FlowHasher { key: Some(key), state }
    }

    pub fn hash(&self, schema: &str, distinguisher: &str) -> u64 {
        let length = schema.len() + 1 + distinguisher.len();
        if length > LONGEST_SHORT {
            let key = self.key.as_ref().map_or(&[][..], |key| key);
            let hash = Sha256::new().chain_update(key).chain_update(schema).chain_update([0]);
            let hash: [u8; 32] = hash.chain_update(distinguisher).finalize().into();
            let [a, b, c, d, e, f, g, h, ..] = hash;
            return u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        }
        self.short_hash(schema.as_bytes(), distinguisher.as_bytes(), length)
    }
}

impl fmt::Debug for FlowHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.key.is_some() { "FlowHasher(keyed)" } else { "FlowHasher(unkeyed)" })
    }
}

// === impl Slots ===

impl Slots {
    pub(crate) fn new(transform: &Transform) -> Self {
        Slots(Mutex::new(transform.regex.capture_locations()))
    }

    /// Group 1; none if the regex does not match. A group that took no part is empty.
    fn capture<'r>(&self, transform: &Transform, value: &'r str) -> Option<&'r str> {
        let capture = |slots: &mut CaptureLocations| {
            transform.regex.captures_read(slots, value)?;
            Some(slots.get(1).map_or("", |(start, end)| &value[start..end]))
        };
        match self.0.try_lock() {
            Some(mut slots) => capture(&mut slots),
            None => capture(&mut transform.regex.capture_locations()),
        }
    }
}

// === SHA-256 of what fits into two blocks ===
//
// Nearly every flow does. Laying the blocks out by hand spares the buffering of a streaming hash.
// The padding is that of FIPS 180-4, 5.1.1: one bit, zeros, and the length in bits in the last
// eight bytes of the last block.

const BLOCK: usize = 64;
const LONGEST_SHORT: usize = 2 * BLOCK - 9;

/// FIPS 180-4, 5.3.3.
const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

impl FlowHasher {
    fn short_hash(&self, schema: &[u8], distinguisher: &[u8], length: usize) -> u64 {
        let mut blocks = [[0; BLOCK]; 2];
        let n_blocks = if length + 9 > BLOCK { 2 } else { 1 };
        let bytes = blocks.as_flattened_mut();
        bytes[..schema.len()].copy_from_slice(schema);
        bytes[schema.len() + 1..length].copy_from_slice(distinguisher);
        bytes[length] = 0x80;
        let end = n_blocks * BLOCK;
        let before = if self.key.is_some() { BLOCK } else { 0 };
        bytes[end - 8..end].copy_from_slice(&(8 * (before + length) as u64).to_be_bytes());
        let mut state = self.state;
        compress256(&mut state, &blocks[..n_blocks]);
        // The digest is the state in big-endian words; its first eight bytes are read
        // little-endian.
        u64::from(state[0].swap_bytes()) | u64::from(state[1].swap_bytes()) << 32
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;
    use crate::Groups;

    #[test]
    fn the_hash_of_every_length_is_that_of_the_streaming_one() {
        let long = "abcdefghij".repeat(20);
        for length in 0..long.len() {
            for split in [0, 1, length / 2, length] {
                let (schema, rest) = long[..length].split_at(split.min(length));
                let whole = Sha256::digest([schema.as_bytes(), b"\0", rest.as_bytes()].concat());
                let expected = u64::from_le_bytes(whole[..8].try_into().unwrap());
                assert_eq!(flow_hash(schema, rest), expected, "{schema:?} {rest:?}");
                let (mut key, keyed) = ([0; BLOCK], FlowHash::Keyed(Some(FlowKey::new([7; 32]))));
                key[..32].fill(7);
                let text = [&key[..], schema.as_bytes(), b"\0", rest.as_bytes()].concat();
                let expected = u64::from_le_bytes(Sha256::digest(text)[..8].try_into().unwrap());
                assert_eq!(FlowHasher::new(keyed).hash(schema, rest), expected, "{schema:?}");
            }
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        let hash = FlowHash::Keyed(Some(FlowKey::new([7; 32])));
        let shown = format!("{hash:?} {:?}", FlowHasher::new(hash));
        assert_eq!(shown, "Keyed(Some(FlowKey(..))) FlowHasher(keyed)");
    }

    #[test]
    fn a_distinguisher_is_the_attribute_or_what_the_transform_makes_of_it() {
        let transform = |pattern: &str| Transform {
            pattern: pattern.into(),
            regex: Regex::new(&format!("^(?:{pattern})$")).unwrap(),
        };
        let request = Request {
            user: "system:serviceaccount:shop:cart",
            groups: Groups::Borrowed(&["other", "team:red", "team:blue"]),
            namespace: "prod",
            headers: &[("x-tenant", "acme-7")],
            ..Request::default()
        };
        let cases = [
            (Source::User, None, "system:serviceaccount:shop:cart"),
            (Source::Namespace, None, "prod"),
            (Source::Header("x-tenant".into()), None, "acme-7"),
            (Source::Header("x-none".into()), None, ""),
            (Source::Group, None, "other"),
            (Source::Group, Some("team:(.*)"), "red"),
            (Source::Group, Some("club:(.*)"), ""),
            (Source::User, Some("system:serviceaccount:([^:]*):.*"), "shop"),
            (Source::User, Some("serviceaccount:([^:]*)"), ""),
            (Source::User, Some("a(.*)|system:.*"), ""),
            (Source::Header("x-tenant".into()), Some("([a-z]+)-([0-9]+)"), "acme"),
            (Source::Header("x-none".into()), Some("(.*)"), ""),
        ];
        for (source, pattern, expected) in cases {
            let of = Distinguisher { source, transform: pattern.map(transform) };
            assert_eq!(distinguisher(&of, &request), expected, "{of:?}");
        }
    }

    #[test]
    fn without_groups_there_is_no_distinguisher_by_group() {
        let of = Distinguisher { source: Source::Group, transform: None };
        assert_eq!(distinguisher(&of, &Request::default()), "");
    }

    #[test]
    fn captures_do_not_wait_for_one_another() {
        let transform =
            Transform { pattern: "(.).*".into(), regex: Regex::new("^(?:(.).*)$").unwrap() };
        let slots = Slots::new(&transform);
        let _held = slots.0.lock();
        assert_eq!(slots.capture(&transform, "xyz"), Some("x"));
    }
}
