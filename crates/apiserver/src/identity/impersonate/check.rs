//! The rights that one mode requires: to the name, the uid, each group and each extra value of the
//! wanted user, in this order.

use std::collections::BTreeMap;

use super::{Attributes, Decision, Mode, Refusal, User, Username, username};
use crate::{
    identity::{ANONYMOUS, AUTHENTICATED, MASTERS, On, UNAUTHENTICATED},
    invalid::{FieldError, Path, aggregated, quoted},
    kinds::{metadata::invalid, names},
};

const AUTHENTICATION: &str = "authentication.k8s.io";
const NODES: &str = "system:nodes";
/// From this many values on, a constrained mode first asks for the right to all of them.
const MANY: usize = 4;

/// The checks of a mode, or of the older impersonation without one.
pub(super) struct Check<'a> {
    pub(super) requestor: &'a User,
    pub(super) mode: Option<Mode>,
    pub(super) verb: &'a str,
    pub(super) may: &'a dyn Fn(&User, &Attributes<'_>) -> Decision,
}

// === impl Check ===

impl Check<'_> {
    /// The wanted user with the groups that follow from the name, if all values are allowed.
    pub(super) fn user(&self, wanted: &User) -> Result<User, Refusal> {
        let mut user = wanted.clone();
        self.name(&mut user)?;
        if !wanted.uid.is_empty() {
            self.on(AUTHENTICATION, "uids", &wanted.uid)?;
        }
        self.groups(&wanted.groups)?;
        self.extra(&wanted.extra)?;
        let added = match user.name.as_str() {
            ANONYMOUS => UNAUTHENTICATED,
            _ if user.is_in(UNAUTHENTICATED) => return Ok(user),
            _ => AUTHENTICATED,
        };
        if !user.is_in(added) {
            user.groups.push(added.to_owned());
        }
        Ok(user)
    }

    pub(super) fn authorize(&self, attributes: &Attributes<'_>) -> Result<(), Refusal> {
        let decision = (self.may)(self.requestor, attributes);
        match decision.allowed {
            true => Ok(()),
            false => Err(Refusal::forbidden(self.requestor, attributes, &decision.reason)),
        }
    }

    fn name(&self, user: &mut User) -> Result<(), Refusal> {
        match username(&user.name) {
            Username::ServiceAccount { namespace, name } => {
                let of_account = On::Resource {
                    group: self.group(),
                    resource: "serviceaccounts",
                    subresource: "",
                    namespace,
                    name,
                };
                self.authorize(&self.attributes(of_account))?;
                if user.groups.is_empty() {
                    let all = "system:serviceaccounts";
                    user.groups = vec![all.to_owned(), format!("{all}:{namespace}")];
                }
                Ok(())
            }
            Username::Node(node) if self.mode.is_some() => {
                let any = self.mode == Some(Mode::AssociatedNode);
                self.on(self.group(), "nodes", if any { "*" } else { node })?;
                user.groups = vec![NODES.to_owned()];
                Ok(())
            }
            Username::Node(_) | Username::Other => self.on(self.group(), "users", &user.name),
        }
    }

    fn groups(&self, groups: &[String]) -> Result<(), Refusal> {
        if self.mode.is_some() {
            if groups.iter().any(String::is_empty) {
                let why = "impersonating the empty string group is not allowed";
                return Err(self.refused(self.group(), "groups", "", why));
            }
            if groups.iter().any(|group| group == MASTERS) {
                let why = "impersonating the system:masters group is not allowed";
                return Err(self.refused(self.group(), "groups", MASTERS, why));
            }
            if groups.len() >= MANY && self.on(self.group(), "groups", "*").is_ok() {
                return Ok(());
            }
        }
        groups.iter().try_for_each(|group| self.on(self.group(), "groups", group))
    }

    fn extra(&self, extra: &BTreeMap<String, Vec<String>>) -> Result<(), Refusal> {
        let on_value = |key: &str, value: &str| {
            self.authorize(&self.attributes(On::Resource {
                group: AUTHENTICATION,
                resource: "userextras",
                subresource: key,
                namespace: "",
                name: value,
            }))
        };
        if self.mode.is_some() {
            if let Some(why) = extra.iter().find_map(|(key, values)| wrong_extra(key, values)) {
                return Err(self.refused(AUTHENTICATION, "userextras", "", &why));
            }
            let n_values: usize = extra.values().map(Vec::len).sum();
            if n_values >= MANY && on_value("*", "*").is_ok() {
                return Ok(());
            }
        }
        let mut values =
            extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        values.try_for_each(|(key, value)| on_value(key, value))
    }

    /// Users and groups are of the core group for the older impersonation.
    fn group(&self) -> &'static str {
        if self.mode.is_some() { AUTHENTICATION } else { "" }
    }

    fn on(&self, group: &str, resource: &str, name: &str) -> Result<(), Refusal> {
        let on = On::Resource { group, resource, subresource: "", namespace: "", name };
        self.authorize(&self.attributes(on))
    }

    fn refused(&self, group: &str, resource: &str, name: &str, why: &str) -> Refusal {
        let on = On::Resource { group, resource, subresource: "", namespace: "", name };
        Refusal::forbidden(self.requestor, &self.attributes(on), why)
    }

    fn attributes<'b>(&'b self, on: On<'b>) -> Attributes<'b> {
        Attributes { verb: self.verb, on, field_selector: "" }
    }
}

/// Why a constrained mode allows nobody this key and its values.
fn wrong_extra(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let wrong = wrong_key(key);
    if !wrong.is_empty() {
        let wrong = aggregated(&wrong);
        return Some(format!("impersonating an invalid key in extra is not allowed: {wrong}"));
    }
    if key != key.to_lowercase() {
        let key = quoted(key);
        return Some(format!("impersonating a non-lowercase key in extra is not allowed: {key}"));
    }
    let is_empty = values.iter().any(String::is_empty);
    is_empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

/// A key is a path below a domain.
fn wrong_key(key: &str) -> Vec<FieldError> {
    let at = Path::root("extra").child("key");
    let parts = key.split_once('/').filter(|(host, path)| !host.is_empty() && !path.is_empty());
    let Some((host, path)) = parts else {
        let words = "must be a domain-prefixed path (such as \"acme.io/foo\")".to_owned();
        return invalid(&at, key, vec![words]);
    };
    let mut wrong = invalid(&at, host, names::dns1123_subdomain(host));
    let is_allowed = |c: u8| c.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&c);
    if !path.bytes().all(is_allowed) {
        let regex = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
        let words = names::regex_error("Invalid path", regex, &[]);
        wrong.extend(invalid(&at, path, vec![words]));
    }
    wrong
}
