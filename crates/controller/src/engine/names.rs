//! Names of new slices: the Service's, and ten characters that follow from Service UID, address
//! family, ports and ordinal. Whoever creates the same slice again, after a time-out or as a rival,
//! meets a conflict instead of making a second one.

use std::{fmt::Write, sync::Arc};

use evenkeel_model::{Service, Slice};
use sha2::{Digest, Sha256};

/// The letters of Kubernetes' own generated names: no vowels, so no words.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const LENGTH: usize = 10;

/// The first name that is not taken.
pub(super) fn name(service: &Service, slice: &Slice, taken: impl Fn(&str) -> bool) -> Arc<str> {
    let mut names = (0..).map(|ordinal| numbered(service, slice, ordinal));
    names.find(|name| !taken(name)).expect("ordinals never run out").into()
}

fn numbered(service: &Service, slice: &Slice, ordinal: u32) -> String {
    let mut text = format!("{}\n{}\n{ordinal}\n", service.uid, slice.address_type);
    for port in &slice.ports {
        let number = port.port.map_or(0, u32::from);
        let application = port.app_protocol.as_deref().unwrap_or_default();
        writeln!(text, "{}\n{}\n{number}\n{application}", port.name, port.protocol)
            .expect("writing to a String");
    }
    let digest = Sha256::digest(text.as_bytes());
    let letters =
        digest.iter().take(LENGTH).map(|byte| LETTERS[usize::from(*byte) % LETTERS.len()]);
    format!("{}-{}", service.key.name, letters.map(char::from).collect::<String>())
}

#[cfg(test)]
mod tests {
    use evenkeel_model::AddressType;

    use super::*;

    #[test]
    fn a_name_follows_from_what_the_slice_is_for() {
        let service = evenkeel_testkit::service("web");
        let slice = |family| evenkeel_testkit::slice(&service, "", family, Vec::new());
        let free = |_: &str| false;
        let first = name(&service, &slice(AddressType::IPv4), free);
        assert_eq!(first, name(&service, &slice(AddressType::IPv4), free));
        assert!(first.starts_with("web-") && first.len() == 14, "{first}");
        assert_ne!(first, name(&service, &slice(AddressType::IPv6), free));
        let second = name(&service, &slice(AddressType::IPv4), |name| name == &*first);
        assert_ne!(first, second);
        let mut other = service.clone();
        other.uid = "another".into();
        assert_ne!(first, name(&other, &slice(AddressType::IPv4), free));
    }
}
