//! The addresses of Pods. A new one is the next free one after the last allocated, so that an
//! address is not reused at once and finding one costs the length of a run of used ones.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use k8s_openapi::api::core::v1::Pod;

use super::uid_of;
use crate::settings::IpRange;

#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// With the uid of the Pod.
    taken: BTreeMap<IpAddr, Box<str>>,
    last: [Option<IpAddr>; 2],
}

impl Addresses {
    /// A free address of a range; `None`: all are in use. Neither the network address nor the last
    /// one, which is IPv4's broadcast address, is allocated.
    pub(crate) fn free(&self, range: IpRange) -> Option<IpAddr> {
        let first = number(range.first).checked_add(1)?;
        let bits = if range.first.is_ipv4() { 32 } else { 128 };
        let size = 1_u128.checked_shl(bits - u32::from(range.prefix)).unwrap_or(u128::MAX);
        let last = number(range.first).checked_add(size.checked_sub(2)?)?;
        let given = self.last[family(range.first)].map(number);
        let start = given.map_or(first, |given| given.saturating_add(1));
        let start = if (first..=last).contains(&start) { start } else { first };
        (start..=last)
            .chain(first..start)
            .map(|n| address(n, range.first))
            .find(|address| !self.taken.contains_key(address))
    }

    pub(super) fn take(&mut self, pod: &Pod) {
        for address in of(pod) {
            self.taken.entry(address).or_insert_with(|| uid_of(&pod.metadata).into());
            self.last[family(address)] = Some(address);
        }
    }

    pub(super) fn release(&mut self, pod: &Pod) {
        for address in of(pod) {
            if self.taken.get(&address).is_some_and(|uid| **uid == *uid_of(&pod.metadata)) {
                self.taken.remove(&address);
            }
        }
    }
}

/// A Pod in the host network has its Node's address, and a terminated one has none.
fn of(pod: &Pod) -> impl Iterator<Item = IpAddr> {
    let own = pod.spec.as_ref().is_none_or(|spec| spec.host_network != Some(true));
    let own = own && !super::is_finished(pod);
    let ips =
        pod.status.iter().filter(move |_| own).flat_map(|status| status.pod_ips.iter().flatten());
    ips.filter_map(|ip| ip.ip.parse().ok())
}

fn family(address: IpAddr) -> usize {
    usize::from(address.is_ipv6())
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

fn address(number: u128, like: IpAddr) -> IpAddr {
    match u32::try_from(number) {
        Ok(number) if like.is_ipv4() => IpAddr::V4(Ipv4Addr::from(number)),
        _ => IpAddr::V6(Ipv6Addr::from(number)),
    }
}
