//! A part of the program, or something made at run time and shared.
//!
//! The table of kinds is static data, so that a built-in kind costs nothing. What a
//! CustomResourceDefinition defines has the same form, and is freed with its last user.

use std::{fmt, ops::Deref, sync::Arc};

use serde::{Serialize, Serializer};

#[derive(Debug)]
pub(crate) enum Held<T: ?Sized + 'static> {
    Static(&'static T),
    Shared(Arc<T>),
}

pub(crate) type Text = Held<str>;

pub(crate) const fn fixed(text: &'static str) -> Text {
    Held::Static(text)
}

impl<T: ?Sized> Clone for Held<T> {
    fn clone(&self) -> Held<T> {
        match self {
            Held::Static(value) => Held::Static(value),
            Held::Shared(value) => Held::Shared(value.clone()),
        }
    }
}

impl<T: ?Sized> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Held::Static(value) => value,
            Held::Shared(value) => value,
        }
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Held<T> {
    fn eq(&self, other: &Held<T>) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Held<T> {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Held::Shared(text.into())
    }
}

impl<T: ?Sized + std::hash::Hash> std::hash::Hash for Held<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// Maps by text are searched with plain strings.
impl<T: ?Sized> std::borrow::Borrow<T> for Held<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Text) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Text) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}
