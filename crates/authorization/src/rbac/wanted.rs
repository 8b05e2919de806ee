//! A wanted right, between what a request asks for and what cells say.
//!
//! A request is one right; a rule that is to be granted is broken into such rights too
//! (`escalation`), so that both are looked up in the same index.

use std::borrow::Cow;

use crate::{Attributes, On};

#[derive(Clone, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) verb: &'a str,
    pub(crate) on: WantedOn<'a>,
}

#[derive(Clone, Debug)]
pub(crate) enum WantedOn<'a> {
    Resource {
        group: &'a str,
        /// The resource up to its first `/`.
        resource: &'a str,
        /// What follows the `/`; `None` without one.
        part: Option<Cow<'a, str>>,
        /// The part that `*/PART` in a rule must name.
        any: Option<&'a str>,
        /// `None` if only a rule without resource names is enough.
        name: Option<&'a str>,
    },
    Path {
        path: &'a str,
        /// Only a rule without resource names is enough.
        unnamed: bool,
    },
}

// === impl Wanted ===

impl<'a> Wanted<'a> {
    pub(crate) fn of(attributes: &Attributes<'a>) -> Wanted<'a> {
        let on = match attributes.on {
            On::Path(path) => WantedOn::Path { path, unnamed: false },
            On::Resource { group, resource, subresource, name, .. } => {
                let any = (!subresource.is_empty()).then_some(subresource);
                let (resource, part) = match (resource.split_once('/'), any) {
                    (None, any) => (resource, any.map(Cow::Borrowed)),
                    (Some((resource, part)), None) => (resource, Some(Cow::Borrowed(part))),
                    // Only an access review can ask for this.
                    (Some((resource, part)), Some(any)) => {
                        (resource, Some(Cow::Owned(format!("{part}/{any}"))))
                    }
                };
                WantedOn::Resource { group, resource, part, any, name: Some(name) }
            }
        };
        Wanted { verb: attributes.verb, on }
    }

    /// One verb on one resource as rules name it.
    pub(crate) fn granted(
        verb: &'a str,
        group: &'a str,
        resource: &'a str,
        name: Option<&'a str>,
    ) -> Wanted<'a> {
        let (resource, part) = split(resource);
        let on =
            WantedOn::Resource { group, resource, part: part.map(Cow::Borrowed), any: part, name };
        Wanted { verb, on }
    }

    pub(crate) fn granted_path(verb: &'a str, path: &'a str) -> Wanted<'a> {
        Wanted { verb, on: WantedOn::Path { path, unnamed: true } }
    }
}

/// A resource as rules name it, at its first `/`.
pub(crate) fn split(resource: &str) -> (&str, Option<&str>) {
    match resource.split_once('/') {
        Some((resource, part)) => (resource, Some(part)),
        None => (resource, None),
    }
}
