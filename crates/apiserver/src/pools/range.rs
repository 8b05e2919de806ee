//! One range of numbers to allocate, whose lower part is preferred for explicitly requested
//! numbers.
//!
//! Dynamic allocation takes a number from the upper part, starting at a random position, and from
//! the lower part only if the upper one is full (KEP-3070, KEP-3668). Sources: `ipallocator.go` and
//! `allocator.go` in `pkg/registry/core/service/{ipallocator,portallocator}`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::numbers::{Numbers, Random, Refused};
use crate::{kinds::names::masked, settings::IpRange};

#[derive(Debug)]
pub(super) struct Addresses {
    /// The network address, which is not allocated.
    base: IpAddr,
    prefix: u8,
    pub(super) numbers: Numbers,
}

#[derive(Debug)]
pub(super) struct Ports {
    first: u16,
    last: u16,
    pub(super) numbers: Numbers,
}

/// The size of the part preferred for static allocation.
fn lower_part(size: u128, step: u128, most: u64) -> u64 {
    const LEAST: u64 = 16;
    if size <= u128::from(LEAST) {
        return 0;
    }
    u64::try_from(size / step).unwrap_or(most).clamp(LEAST, most)
}

// === impl Addresses ===

impl Addresses {
    /// Neither the network address nor, in IPv4, the broadcast address is allocated.
    pub(super) fn new(range: IpRange) -> Addresses {
        let (bits, unused): (u32, u128) = if range.first.is_ipv4() { (32, 2) } else { (128, 1) };
        let size = 1u128.checked_shl(bits.saturating_sub(range.prefix.into())).unwrap_or(u128::MAX);
        let last = size.checked_sub(unused + 1);
        let last = last.map(|last| u64::try_from(last).unwrap_or(u64::MAX - 1));
        let numbers = Numbers::new(lower_part(size, 16, 256), last);
        Addresses { base: masked(range.first, range.prefix), prefix: range.prefix, numbers }
    }

    pub(super) fn family(&self) -> &'static str {
        if self.base.is_ipv4() { "IPv4" } else { "IPv6" }
    }

    pub(super) fn network(&self) -> IpAddr {
        self.base
    }

    pub(super) fn first(&self) -> IpAddr {
        self.address(0)
    }

    pub(super) fn take(&mut self, ip: IpAddr) -> Result<(), Refused> {
        let number = self.number(ip).ok_or(Refused::Outside)?;
        self.numbers.take(number)
    }

    pub(super) fn take_any(&mut self, random: Random<'_>) -> Option<IpAddr> {
        self.numbers.take_any(random).map(|number| self.address(number))
    }

    pub(super) fn holds(&self, ip: IpAddr) -> bool {
        self.number(ip).is_some_and(|number| self.numbers.is_inside(number))
    }

    pub(super) fn number(&self, ip: IpAddr) -> Option<u64> {
        let distance = match (ip, self.base) {
            (IpAddr::V4(ip), IpAddr::V4(base)) => {
                u128::from(ip.to_bits().checked_sub(base.to_bits())?)
            }
            (IpAddr::V6(ip), IpAddr::V6(base)) => ip.to_bits().checked_sub(base.to_bits())?,
            _ => return None,
        };
        u64::try_from(distance.checked_sub(1)?).ok()
    }

    pub(super) fn address(&self, number: u64) -> IpAddr {
        match self.base {
            IpAddr::V4(base) => {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                IpAddr::V4(Ipv4Addr::from_bits(base.to_bits().wrapping_add(number).wrapping_add(1)))
            }
            IpAddr::V6(base) => {
                IpAddr::V6(Ipv6Addr::from_bits(base.to_bits().wrapping_add(u128::from(number) + 1)))
            }
        }
    }
}

impl std::fmt::Display for Addresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

// === impl Ports ===

impl Ports {
    pub(super) fn new((first, last): (u16, u16)) -> Ports {
        let size = (u128::from(last) + 1).saturating_sub(u128::from(first));
        let top = last.checked_sub(first).map(u64::from);
        let upper = lower_part(size, 32, 128);
        Ports { first, last, numbers: Numbers::new(upper, top) }
    }

    pub(super) fn take(&mut self, port: i64) -> Result<(), Refused> {
        let number = self.number(port).ok_or(Refused::Outside)?;
        self.numbers.take(number)
    }

    pub(super) fn take_any(&mut self, random: Random<'_>) -> Option<i64> {
        self.numbers.take_any(random).map(|number| self.port(number))
    }

    pub(super) fn port(&self, number: u64) -> i64 {
        i64::from(self.first) + i64::try_from(number).unwrap_or_default()
    }

    pub(super) fn is_taken(&self, port: i64) -> bool {
        self.number(port).is_some_and(|number| self.numbers.is_taken(number))
    }

    pub(super) fn number(&self, port: i64) -> Option<u64> {
        let inside = (i64::from(self.first)..=i64::from(self.last)).contains(&port);
        inside.then(|| port.abs_diff(i64::from(self.first)))
    }
}

impl std::fmt::Display for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(text: &str) -> Addresses {
        let (first, prefix) = text.split_once('/').unwrap();
        Addresses::new(IpRange { first: first.parse().unwrap(), prefix: prefix.parse().unwrap() })
    }

    #[test]
    fn a_range_knows_its_ends() {
        for (range, first, last, upper) in [
            ("10.96.0.0/12", "10.96.0.1", "10.111.255.254", 256),
            ("10.0.0.0/28", "10.0.0.1", "10.0.0.14", 0),
            ("10.0.0.0/24", "10.0.0.1", "10.0.0.254", 16),
            ("fd00:10:96::/112", "fd00:10:96::1", "fd00:10:96::ffff", 256),
        ] {
            let pool = addresses(range);
            assert_eq!(pool.first().to_string(), first);
            assert_eq!(pool.address(pool.numbers.last.unwrap()).to_string(), last);
            assert!(pool.holds(last.parse().unwrap()));
            assert!(!pool.holds(pool.network()));
            assert_eq!(pool.numbers.upper, upper);
            assert_eq!(pool.to_string(), range);
        }
        assert_eq!(addresses("10.0.0.1/32").take_any(&mut |_| 0), None);
        assert_eq!(addresses("fd00::/64").numbers.last, Some(u64::MAX - 1));
    }

    #[test]
    fn the_lower_part_is_given_out_last() {
        let mut pool = addresses("10.0.0.0/26");
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let all: Vec<IpAddr> = std::iter::from_fn(|| pool.take_any(&mut random)).collect();
        assert_eq!(all.len(), 62);
        let lower: IpAddr = "10.0.0.17".parse().unwrap();
        assert!(all[..46].iter().all(|ip| *ip >= lower));
        assert!(all[46..].iter().all(|ip| *ip < lower));
        pool.numbers.give_back(pool.number(all[50]).unwrap());
        assert_eq!(pool.take_any(&mut random), Some(all[50]));
    }

    #[test]
    fn a_full_range_fails_fast() {
        let mut pool = addresses("10.96.0.0/12");
        pool.numbers.fill();
        let free = pool.number("10.100.7.7".parse().unwrap()).unwrap();
        pool.numbers.let_go(free);
        for _ in 0..1000 {
            let ip = pool.take_any(&mut |below| below / 3).unwrap();
            assert_eq!(ip.to_string(), "10.100.7.7");
            assert_eq!(pool.take_any(&mut |below| below - 1), None);
            pool.numbers.give_back(free);
        }
    }

    #[test]
    fn ports_stay_in_their_range() {
        let mut ports = Ports::new((30000, 32767));
        assert_eq!(ports.take(25), Err(Refused::Outside));
        assert_eq!(ports.take(30503), Ok(()));
        assert_eq!(ports.take(30503), Err(Refused::Taken));
        assert!(ports.is_taken(30503));
        assert_eq!(ports.take_any(&mut |_| 0), Some(30086));
        assert_eq!(ports.to_string(), "30000-32767");
    }
}
