//! A list that nearly always has no element or one, and then needs no heap.

use std::slice;

/// None, one, or many of `T`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Few<T> {
    #[default]
    None,
    One(T),
    Many(Box<Many<T>>),
}

/// Two or more. Behind one thin pointer, so that a list of ids takes no more than two words.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Many<T>(Box<[T]>);

impl<T> Few<T> {
    pub fn as_slice(&self) -> &[T] {
        match self {
            Few::None => &[],
            Few::One(item) => slice::from_ref(item),
            Few::Many(items) => &items.0,
        }
    }

    pub fn first(&self) -> Option<&T> {
        self.as_slice().first()
    }

    pub fn is_empty(&self) -> bool {
        matches!(self, Few::None)
    }

    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.as_slice().iter()
    }
}

impl<T: Ord> Few<T> {
    pub fn sort_unstable(&mut self) {
        if let Few::Many(items) = self {
            items.0.sort_unstable();
        }
    }
}

impl<T: PartialEq> Few<T> {
    #[inline]
    pub fn contains(&self, wanted: &T) -> bool {
        match self {
            Few::None => false,
            Few::One(item) => item == wanted,
            Few::Many(items) => items.0.contains(wanted),
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items = items.into_iter();
        let Some(first) = items.next() else {
            return Few::None;
        };
        let Some(second) = items.next() else {
            return Few::One(first);
        };
        let many = [first, second].into_iter().chain(items).collect();
        Few::Many(Box::new(Many(many)))
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collects_to_the_smallest_form() {
        assert_eq!([0u8; 0].into_iter().collect::<Few<_>>(), Few::None);
        assert_eq!([7].into_iter().collect::<Few<_>>(), Few::One(7));
        let many: Few<_> = [1, 2, 3].into_iter().collect();
        assert_eq!(many.as_slice(), [1, 2, 3]);
        assert!(many.contains(&3) && !many.contains(&4));
    }
}
