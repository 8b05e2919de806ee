//! Short strings that change with their source. They identify versions and are not
//! security-relevant, so FNV-1a (64 bits) is enough for ours; unlike the standard library's hashes it is the
//! same in every build.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// An entity tag, with its quotes.
pub(crate) fn etag(document: &Value) -> String {
    format!("\"{:016X}\"", fnv(document.to_string().as_bytes()))
}

/// `storageVersionHash`: equal for resources that are stored the same way. The same as in
/// Kubernetes, so that clients that compare servers see no difference.
pub(super) fn stored(group: &str, version: &str, kind: &str) -> String {
    let hash = Sha256::digest(format!("{group}/{version}/{kind}"));
    STANDARD.encode(&hash[..8])
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fnv_gives_the_published_values() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
        assert_ne!(etag(&json!({"a": 1})), etag(&json!({"a": 2})));
    }
}
