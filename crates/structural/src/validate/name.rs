//! The name of a value in messages: its path as kube-openapi writes it, which differs from field
//! paths in that keys of maps are written like fields.

use std::fmt;

/// A list of segments on the stack, from the leaf up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name<'a> {
    /// The value that is validated: empty.
    Root,
    /// `name.field`, or `field` below the root.
    Field(&'a Name<'a>, &'a str),
    /// `name.key`, also below the root.
    Additional(&'a Name<'a>, &'a str),
    /// `name[3]`.
    Index(&'a Name<'a>, usize),
}

impl Name<'_> {
    pub(super) fn is_root(&self) -> bool {
        matches!(self, Name::Root)
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Root => Ok(()),
            Name::Field(Name::Root, field) => f.write_str(field),
            Name::Field(parent, key) | Name::Additional(parent, key) => write!(f, "{parent}.{key}"),
            Name::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
