//! Random numbers from a seed.
//!
//! Source: xoshiro256++ 1.0 by David Blackman and Sebastiano Vigna (2019), its state filled by
//! SplitMix64 as they advise; both are in the public domain. The period is 2^256 − 1; it is not for
//! cryptography.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// Streams of different numbers are independent, whatever the seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut state = mix(seed) ^ mix(stream.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1));
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state)
        };
        Random([next(), next(), next(), next()])
    }

    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let t = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= t;
        *d = d.rotate_left(45);
        result
    }

    /// Uniform in (0, 1]: its logarithm is finite.
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// Normal with mean 0 and deviation 1, by Box and Muller (1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Uniform below `bound`, which is small against 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(product >> 64).expect("less than the bound")
    }
}

/// The finalizer of SplitMix64.
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the authors' program for the state 1, 2, 3, 4.
    #[test]
    fn the_numbers_are_those_of_xoshiro256_plus_plus() {
        let mut random = Random([1, 2, 3, 4]);
        let got = [random.next_u64(), random.next_u64(), random.next_u64()];
        assert_eq!(got, [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }

    #[test]
    fn moments_are_as_they_should_be() {
        let mut random = Random::new(7, 0);
        let n = 200_000;
        let mean =
            |draw: &mut dyn FnMut() -> f64| (0..n).map(|_| draw()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || random.unit()) - 0.5).abs() < 0.01);
        assert!((mean(&mut || random.exponential()) - 1.0).abs() < 0.01);
        assert!(mean(&mut || random.normal()).abs() < 0.01);
        assert!((mean(&mut || random.normal().powi(2)) - 1.0).abs() < 0.02);
        assert!((mean(&mut || random.below(10) as f64) - 4.5).abs() < 0.05);
    }

    #[test]
    fn streams_differ() {
        let first = |seed, stream| Random::new(seed, stream).next_u64();
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_eq!(first(3, 4), first(3, 4));
    }
}
