//! Names of new slices: the Service's, and ten characters that follow from Service UID, address
//! family, ports and ordinal. Whoever creates the same slice again, after a time-out or as a rival,
//! meets a conflict instead of making a second one.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use evenkeel_model::{AddressType, EndpointPort, Service, Slice};
use sha2::{Digest, Sha256};

/// The letters of Kubernetes' own generated names: no vowels, so no words.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const LENGTH: usize = 10;

/// Names for the new slices of one plan. What was found taken is not tried again, so that many
/// slices cost one digest each.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The next ordinal by address family and ports.
    next: BTreeMap<(AddressType, Vec<EndpointPort>), u32>,
}

impl Names {
    /// The first name that is not taken, nor given before.
    pub(super) fn name(
        &mut self,
        service: &Service,
        slice: &Slice,
        taken: impl Fn(&str) -> bool,
    ) -> Arc<str> {
        let next = self.next.entry((slice.address_type, slice.ports.clone())).or_default();
        loop {
            let name = numbered(service, slice, *next);
            *next += 1;
            if !taken(&name) {
                return name.into();
            }
        }
    }
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
    use super::*;

    #[test]
    fn a_name_follows_from_what_the_slice_is_for() {
        let service = evenkeel_testkit::service("web");
        let slice = |family| evenkeel_testkit::slice(&service, "", family, Vec::new());
        let free = |_: &str| false;
        let name = |service: &Service, family, taken: &dyn Fn(&str) -> bool| {
            Names::default().name(service, &slice(family), taken)
        };
        let first = name(&service, AddressType::IPv4, &free);
        assert_eq!(first, name(&service, AddressType::IPv4, &free));
        assert!(first.starts_with("web-") && first.len() == 14, "{first}");
        assert_ne!(first, name(&service, AddressType::IPv6, &free));
        let second = name(&service, AddressType::IPv4, &|name| name == &*first);
        assert_ne!(first, second);
        let mut other = service.clone();
        other.uid = "another".into();
        assert_ne!(first, name(&other, AddressType::IPv4, &free));
        let mut names = Names::default();
        let of_one_plan = [(); 2].map(|()| names.name(&service, &slice(AddressType::IPv4), free));
        assert_eq!(of_one_plan, [first, second], "the same as one after the other");
    }
}
