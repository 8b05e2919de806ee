//! Unpredictable names, identities and choices.

use rand::RngExt as _;

/// Without vowels and look-alikes, so that no words result. Same as Kubernetes.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A version 4 UUID.
pub(crate) fn uuid() -> String {
    let mut bytes: [u8; 16] = rand::rng().random();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut out = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        for digit in [byte >> 4, byte & 0x0f] {
            out.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    out
}

/// The suffix for `generateName`.
pub(crate) fn suffix() -> String {
    let mut rng = rand::rng();
    (0..5).map(|_| char::from(LETTERS[rng.random_range(0..LETTERS.len())])).collect()
}

/// A number below `end`.
pub(crate) fn below(end: u64) -> u64 {
    if end == 0 { 0 } else { rand::rng().random_range(0..end) }
}
