//! Zone shares: for each client zone, which part of its traffic goes to the endpoints of which zone.
//!
//! The table travels in the annotation `evenkeel.dev/zone-shares` of one EndpointSlice for each
//! address family and set of ports. Crate `topology` computes it (policy Balanced) and applies it.

use std::{fmt, sync::Arc};

use serde::Serialize;

use crate::{Reason, ZoneId};

/// The parts of each row sum to this.
pub const PARTS: u16 = 1000;

/// The longest table that consumers read, as text. An API server takes annotations of 256 KiB in all.
pub const MOST_SHARES_BYTES: usize = 128 * 1024;

/// A table of zone shares. Rows and their parts are sorted by zone id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ZoneShares {
    rows: Vec<ShareRow>,
}

/// Where the clients of one zone send their traffic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShareRow {
    pub client: ZoneId,
    /// Zones of endpoints with their parts, each above zero; they sum to [`PARTS`].
    /// [`ZoneId::EMPTY`]: endpoints without a zone.
    pub parts: Box<[(ZoneId, u16)]>,
}

/// What an EndpointSlice has in the annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharesAnnotation {
    Valid(Arc<ZoneShares>),
    Invalid(SharesError),
}

/// Why a table is ignored. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum SharesError {
    /// The annotation is longer than any table that is written.
    SharesTooLong {
        bytes: usize,
        limit: usize,
    },
    SharesNotJson {
        problem: Arc<str>,
    },
    /// A part is negative, above 1,000 or not a whole number.
    SharePartOutOfRange {
        client: Arc<str>,
        zone: Arc<str>,
    },
    ShareSumWrong {
        client: Arc<str>,
        sum: u32,
    },
    /// A zone is named twice, as a client or within a row.
    ShareZoneRepeated {
        zone: Arc<str>,
    },
}

// === impl ZoneShares ===

impl ZoneShares {
    /// Takes rows in any order. Parts of zero are dropped.
    ///
    /// # Panics
    /// In debug builds, if a row does not sum to [`PARTS`] or names a zone twice.
    pub fn new(rows: impl IntoIterator<Item = (ZoneId, Vec<(ZoneId, u16)>)>) -> Self {
        let row = |(client, mut parts): (ZoneId, Vec<(ZoneId, u16)>)| {
            parts.retain(|(_, part)| *part > 0);
            parts.sort_unstable_by_key(|(zone, _)| *zone);
            debug_assert_eq!(parts.iter().map(|(_, part)| u32::from(*part)).sum::<u32>(), 1000);
            debug_assert!(parts.windows(2).all(|two| two[0].0 != two[1].0), "a zone twice");
            ShareRow { client, parts: parts.into() }
        };
        let mut rows: Vec<ShareRow> = rows.into_iter().map(row).collect();
        rows.sort_unstable_by_key(|row| row.client);
        debug_assert!(rows.windows(2).all(|two| two[0].client != two[1].client), "a row twice");
        ZoneShares { rows }
    }

    /// Sorted by client zone.
    pub fn rows(&self) -> &[ShareRow] {
        &self.rows
    }

    /// Where clients of `zone` send their traffic; `None` if the table has no row for it.
    pub fn row(&self, zone: ZoneId) -> Option<&[(ZoneId, u16)]> {
        let at = self.rows.binary_search_by_key(&zone, |row| row.client).ok()?;
        Some(&self.rows[at].parts)
    }
}

// === impl SharesAnnotation ===

impl SharesAnnotation {
    pub fn valid(&self) -> Option<&Arc<ZoneShares>> {
        match self {
            SharesAnnotation::Valid(shares) => Some(shares),
            SharesAnnotation::Invalid(_) => None,
        }
    }
}

// === impl SharesError ===

impl Reason for SharesError {}

impl fmt::Display for SharesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SharesError::SharesTooLong { bytes, limit } => {
                write!(f, "zone shares of {bytes} bytes exceed the limit of {limit}")
            }
            SharesError::SharesNotJson { problem } => {
                write!(f, "zone shares are not the expected JSON: {problem}")
            }
            SharesError::SharePartOutOfRange { client, zone } => {
                write!(f, "the share from {client} to {zone} is not a whole number from 0 to 1000")
            }
            SharesError::ShareSumWrong { client, sum } => {
                write!(f, "the shares of {client} sum to {sum}; expected 1000")
            }
            SharesError::ShareZoneRepeated { zone } => write!(f, "zone {zone} is named twice"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Names;

    #[test]
    fn a_row_is_found_whatever_the_order() {
        let mut zones = Names::<ZoneId>::default();
        let [a, b] = ["a", "b"].map(|name| zones.intern(name));
        let shares = ZoneShares::new([(b, vec![(b, 750), (a, 250)]), (a, vec![(a, 1000), (b, 0)])]);
        assert_eq!(shares.row(b), Some(&[(a, 250), (b, 750)][..]));
        assert_eq!(shares.row(a), Some(&[(a, 1000)][..]));
        assert_eq!(shares.row(ZoneId::EMPTY), None);
    }
}
