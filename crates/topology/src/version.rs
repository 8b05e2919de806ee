//! What the version of an API server has: which values of `spec.trafficDistribution` it accepts.
//!
//! Source: KEP-4444 (`PreferClose`, on by default from 1.31) and KEP-3015 (`PreferSameZone` and
//! `PreferSameNode`, on by default from 1.34). An older API server rejects the value.

use std::{fmt, str::FromStr};

use evenkeel_model::{Reason, label};
use serde::{Serialize, Serializer};
use thiserror::Error;

use crate::{Gates, Policy, policy::FIELD};

/// A version of Kubernetes' API, as in `1.33`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerVersion {
    pub major: u16,
    pub minor: u16,
}

/// Where a version was taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum VersionSource {
    /// The API server reported it.
    Cluster,
    /// `--server-version` names it.
    Flag,
    /// Nothing names it: the newest version known here.
    #[default]
    Assumed,
}

/// The API server that a decision is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Server {
    pub version: ServerVersion,
    pub source: VersionSource,
}

/// Where and how a policy is written on a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Expression {
    /// Neither field nor annotation.
    Unset,
    /// The value of `spec.trafficDistribution`.
    Field {
        value: &'static str,
    },
    Annotation {
        name: &'static str,
        value: &'static str,
    },
}

/// The API server is too old for a policy. Code and fields are API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Error)]
#[serde(tag = "code", rename = "UnavailableBefore")]
#[error("{policy} needs Kubernetes {version} or newer")]
pub struct UnavailableBefore {
    pub policy: Policy,
    /// The first version that accepts it.
    pub version: ServerVersion,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{given:?} is not a version of Kubernetes; expected something like 1.33")]
pub struct VersionError {
    given: String,
}

/// How `policy` is written for an API server of this version: never as a value that it rejects.
pub fn expression(policy: Policy, version: ServerVersion) -> Result<Expression, UnavailableBefore> {
    let unavailable = |version| Err(UnavailableBefore { policy, version });
    let has = |first: ServerVersion| version >= first;
    let field = |value| Ok(Expression::Field { value });
    match policy {
        Policy::None => Ok(Expression::Unset),
        Policy::Auto => Ok(Expression::Annotation { name: label::TOPOLOGY_MODE, value: "Auto" }),
        Policy::PreferSameZone if has(PREFER_SAME) => field("PreferSameZone"),
        Policy::PreferSameZone if has(PREFER_CLOSE) => field("PreferClose"),
        Policy::PreferSameZone => unavailable(PREFER_CLOSE),
        Policy::PreferSameNode if has(PREFER_SAME) => field("PreferSameNode"),
        Policy::PreferSameNode => unavailable(PREFER_SAME),
        Policy::Balanced
        | Policy::PreferSameRegion
        | Policy::PreferSameZoneThenRegion
        | Policy::RequireSameZone => {
            Ok(Expression::Annotation { name: label::TRAFFIC_DISTRIBUTION, value: policy.as_str() })
        }
    }
}

const PREFER_CLOSE: ServerVersion = ServerVersion::new(1, 31);
const PREFER_SAME: ServerVersion = ServerVersion::new(1, 34);

// === impl ServerVersion ===

impl ServerVersion {
    /// The newest version whose rules are known here.
    pub const NEWEST: ServerVersion = ServerVersion::new(1, 34);

    pub const fn new(major: u16, minor: u16) -> Self {
        ServerVersion { major, minor }
    }

    /// The feature gates that this version has and turns on by default.
    pub fn gates(self) -> Gates {
        Gates {
            service_traffic_distribution: self >= PREFER_CLOSE,
            prefer_same_traffic_distribution: self >= PREFER_SAME,
            ..Gates::ALL_ON
        }
    }

    /// The values of `spec.trafficDistribution` that this version accepts.
    pub fn values(self) -> &'static [&'static str] {
        match self {
            _ if self >= PREFER_SAME => &["PreferSameZone", "PreferSameNode", "PreferClose"],
            _ if self >= PREFER_CLOSE => &["PreferClose"],
            _ => &[],
        }
    }

    /// The first version that has a feature gate of [`Gates`] on by default.
    pub fn of_gate(gate: &str) -> Option<ServerVersion> {
        match gate {
            "ServiceTrafficDistribution" => Some(PREFER_CLOSE),
            "PreferSameTrafficDistribution" => Some(PREFER_SAME),
            _ => None,
        }
    }
}

impl Default for ServerVersion {
    fn default() -> Self {
        ServerVersion::NEWEST
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Serialize for ServerVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Accepts what people write (`1.33`) and what API servers report (`v1.33.4-gke.100`, `33+`).
impl FromStr for ServerVersion {
    type Err = VersionError;

    fn from_str(given: &str) -> Result<Self, VersionError> {
        let error = || VersionError { given: given.chars().take(40).collect() };
        let text = given.strip_prefix('v').unwrap_or(given);
        let (major, rest) = text.split_once('.').ok_or_else(error)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (minor, rest) = rest.split_at(digits);
        let number = |text: &str| text.parse::<u16>().map_err(|_| error());
        if !(rest.is_empty() || rest.starts_with(['.', '+', '-'])) {
            return Err(error());
        }
        Ok(ServerVersion::new(number(major)?, number(minor)?))
    }
}

// === impl Server ===

impl Server {
    pub fn reported(version: ServerVersion) -> Self {
        Server { version, source: VersionSource::Cluster }
    }

    pub fn given(version: ServerVersion) -> Self {
        Server { version, source: VersionSource::Flag }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kubernetes {}", self.version)?;
        f.write_str(match self.source {
            VersionSource::Cluster => "",
            VersionSource::Flag => " (set by --server-version)",
            VersionSource::Assumed => " (assumed; set --server-version)",
        })
    }
}

// === impl Expression ===

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Unset => write!(f, "no {FIELD}"),
            Expression::Field { value } => write!(f, "{FIELD}: {value}"),
            Expression::Annotation { name, value } => write!(f, "annotation {name}: {value}"),
        }
    }
}

// === impl UnavailableBefore ===

impl Reason for UnavailableBefore {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_people_and_servers_write_them() {
        for (given, version) in [
            ("1.33", (1, 33)),
            ("v1.34.0", (1, 34)),
            ("v1.31.4-gke.100", (1, 31)),
            ("1.30+", (1, 30)),
        ] {
            let (major, minor) = version;
            assert_eq!(given.parse(), Ok(ServerVersion::new(major, minor)), "{given}");
        }
        for given in ["", "1", "1.", "one.two", "1.33x", "1.99999", "-1.2", "1.33 "] {
            assert!(given.parse::<ServerVersion>().is_err(), "{given:?}");
        }
    }

    #[test]
    fn no_policy_is_written_as_a_value_that_the_server_rejects() {
        for minor in 29..=36 {
            let version = ServerVersion::new(1, minor);
            for policy in Policy::ALL {
                match expression(policy, version) {
                    Ok(Expression::Field { value }) => {
                        assert!(version.values().contains(&value), "{policy} on {version}");
                    }
                    Ok(Expression::Unset) => assert_eq!(policy, Policy::None),
                    Ok(Expression::Annotation { name, .. }) => {
                        let own = !Policy::KUBERNETES.contains(&policy);
                        assert_eq!(own, name == label::TRAFFIC_DISTRIBUTION, "{policy}");
                    }
                    Err(error) => {
                        assert!(error.version > version, "{policy} on {version}");
                        assert!(expression(policy, error.version).is_ok());
                    }
                }
            }
        }
        let close = Ok(Expression::Field { value: "PreferClose" });
        assert_eq!(expression(Policy::PreferSameZone, ServerVersion::new(1, 33)), close);
        assert_eq!(expression(Policy::PreferSameZone, ServerVersion::new(1, 31)), close);
    }
}
