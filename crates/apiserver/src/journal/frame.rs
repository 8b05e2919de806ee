//! Frames: the content of a file after its header, one batch each.
//!
//! ```text
//! magic u32 | length u32 | sequence u64 | synced u64 | sum of payload u32 | sum of these u32
//! payload, padded with zeros to a multiple of 8
//! ```
//! All numbers are little endian. Both sums are CRC-32 that start from the file's salt, a random
//! number, so neither old disk contents nor data sent by a client is mistaken for a frame. The
//! sequence counts from 1; no number is written twice in the same file.
//!
//! `synced` is the last sequence that was durable when the frame was written. It distinguishes an
//! unsynced end from corruption: if a frame is invalid and a valid later one records it as synced,
//! it has been corrupted. Otherwise it never counted, nor does anything after it, which the disk
//! may have written first. The one case that can't be distinguished is corruption of the very last
//! synced frame.

use std::io;

use crc32fast::Hasher;

use super::files::File;

const MAGIC: u32 = u32::from_le_bytes(*b"EKFR");
const HEAD: usize = 32;
/// Read size; a longer frame is read whole.
const WINDOW: usize = 256 << 10;

/// Reads the frames of a file in order.
#[derive(Debug)]
pub(super) struct Frames<'a, F> {
    file: &'a F,
    salt: u64,
    /// Start of the next frame: the end of the last valid one.
    at: u64,
    /// No frame reaches beyond it.
    limit: u64,
    /// The sequence of the next frame.
    sequence: u64,
    /// Starts of the frames not proven synced by a later one, oldest first.
    unproven: Vec<(u64, u64)>,
    window: Vec<u8>,
    window_at: u64,
}

struct Head {
    length: usize,
    sequence: u64,
    synced: u64,
    sum: u32,
}

/// Appends a frame to `out`; `payload` appends the payload.
pub(super) fn put(
    out: &mut Vec<u8>,
    salt: u64,
    sequence: u64,
    synced: u64,
    payload: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.resize(start + HEAD, 0);
    payload(out);
    let length = out.len() - start - HEAD;
    let sum = sum(salt, &out[start + HEAD..]);
    out.resize(start + HEAD + length.next_multiple_of(8), 0);
    let head = &mut out[start..start + HEAD];
    head[0..4].copy_from_slice(&MAGIC.to_le_bytes());
    let length = u32::try_from(length).expect("batches are bounded far below 4 GiB");
    head[4..8].copy_from_slice(&length.to_le_bytes());
    head[8..16].copy_from_slice(&sequence.to_le_bytes());
    head[16..24].copy_from_slice(&synced.to_le_bytes());
    head[24..28].copy_from_slice(&sum.to_le_bytes());
    let own = self::sum(salt.rotate_left(32), &head[..28]);
    head[28..32].copy_from_slice(&own.to_le_bytes());
}

pub(super) fn sum(salt: u64, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

// === impl Frames ===

impl<'a, F: File> Frames<'a, F> {
    pub(super) fn new(file: &'a F, salt: u64, at: u64, limit: u64) -> Frames<'a, F> {
        let (window, unproven) = (Vec::new(), Vec::new());
        Frames { file, salt, at, limit, sequence: 1, unproven, window, window_at: 0 }
    }

    /// The end of the last valid frame.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The start of the first frame that may not be durable, if there is one.
    pub(super) fn first_unproven(&self) -> Option<u64> {
        self.unproven.first().map(|(_, at)| *at)
    }

    /// The payload of the next frame; `None` if there is no valid one.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(head) = self.good_head(self.at)? else { return Ok(None) };
        if head.sequence != self.sequence || !self.good_payload(self.at, &head)? {
            return Ok(None);
        }
        let at = self.at;
        self.unproven.retain(|(sequence, _)| *sequence > head.synced);
        self.unproven.push((head.sequence, at));
        self.at += (HEAD + head.length.next_multiple_of(8)) as u64;
        self.sequence += 1;
        let start = (at - self.window_at) as usize + HEAD;
        Ok(Some(&self.window[start..start + head.length]))
    }

    /// After the last valid frame: whether a later one records the invalid one as synced.
    pub(super) fn was_synced(&mut self) -> io::Result<bool> {
        let mut at = self.at + 8;
        while self.fill(at, 8)? {
            let skip = (at - self.window_at) as usize;
            let words = self.window[skip..].chunks_exact(8);
            let Some(found) = words.clone().position(|word| word[..4] == MAGIC.to_le_bytes())
            else {
                at += (words.len() * 8) as u64;
                continue;
            };
            at += (found * 8) as u64;
            if let Some(head) = self.good_head(at)?
                && head.synced >= self.sequence
                && self.good_payload(at, &head)?
            {
                return Ok(true);
            }
            at += 8;
        }
        Ok(false)
    }

    fn good_head(&mut self, at: u64) -> io::Result<Option<Head>> {
        if !self.fill(at, HEAD)? {
            return Ok(None);
        }
        let start = (at - self.window_at) as usize;
        let head = &self.window[start..start + HEAD];
        let four = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four"));
        let eight = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight"));
        if four(0) != MAGIC || four(28) != sum(self.salt.rotate_left(32), &head[..28]) {
            return Ok(None);
        }
        let length = four(4) as usize;
        Ok(Some(Head { length, sequence: eight(8), synced: eight(16), sum: four(24) }))
    }

    fn good_payload(&mut self, at: u64, head: &Head) -> io::Result<bool> {
        if !self.fill(at, HEAD + head.length.next_multiple_of(8))? {
            return Ok(false);
        }
        let start = (at - self.window_at) as usize + HEAD;
        Ok(sum(self.salt, &self.window[start..start + head.length]) == head.sum)
    }

    /// Fills the window with `length` bytes from `at`; `false` if there are fewer.
    fn fill(&mut self, at: u64, length: usize) -> io::Result<bool> {
        let end = at + length as u64;
        if end > self.limit {
            return Ok(false);
        }
        if at >= self.window_at && end <= self.window_at + self.window.len() as u64 {
            return Ok(true);
        }
        let wanted = (length.max(WINDOW) as u64).min(self.limit - at) as usize;
        self.window.resize(wanted, 0);
        self.window_at = at;
        let there = self.file.read_at(&mut self.window, at)?;
        self.window.truncate(there);
        Ok(there >= length)
    }
}
