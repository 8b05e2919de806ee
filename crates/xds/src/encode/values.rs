//! Small values that many messages hold.

use core::{net::SocketAddr, time::Duration};

use envoy_types::pb::{
    envoy::{
        config::core::v3::{
            Address, AggregatedConfigSource, ApiVersion, ConfigSource, SocketAddress, address,
            config_source::ConfigSourceSpecifier, socket_address::PortSpecifier,
        },
        r#type::v3::Percent,
    },
    google::protobuf::{self, Any, BoolValue, UInt32Value, UInt64Value},
};
use prost::{Message, Name};

/// Longer durations are not valid in protobuf: ten thousand years.
const LONGEST: u64 = 315_576_000_000;

pub(super) fn duration(value: Duration) -> protobuf::Duration {
    let seconds = i64::try_from(value.as_secs().min(LONGEST)).unwrap_or_default();
    let nanos = i32::try_from(value.subsec_nanos()).unwrap_or_default();
    protobuf::Duration { seconds, nanos }
}

/// For fields that have to be above 0.
pub(super) fn positive(value: Duration) -> protobuf::Duration {
    duration(value.max(Duration::from_millis(1)))
}

pub(super) fn number(value: u32) -> UInt32Value {
    UInt32Value { value }
}

pub(super) fn long(value: u32) -> UInt64Value {
    UInt64Value { value: value.into() }
}

pub(super) fn flag(value: bool) -> BoolValue {
    BoolValue { value }
}

pub(super) fn percent(value: u8) -> Percent {
    Percent { value: value.min(100).into() }
}

pub(super) fn any<M: Message + Name>(message: &M) -> Any {
    Any { type_url: M::type_url(), value: message.encode_to_vec() }
}

pub(super) fn address(socket: SocketAddr) -> Address {
    Address {
        address: Some(address::Address::SocketAddress(SocketAddress {
            address: socket.ip().to_string(),
            port_specifier: Some(PortSpecifier::PortValue(socket.port().into())),
            ..SocketAddress::default()
        })),
    }
}

/// "Ask on the same stream."
pub(super) fn ads() -> ConfigSource {
    ConfigSource {
        resource_api_version: ApiVersion::V3.into(),
        config_source_specifier: Some(ConfigSourceSpecifier::Ads(AggregatedConfigSource {})),
        ..ConfigSource::default()
    }
}
