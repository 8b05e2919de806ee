//! Why RBAC allows something, and why it could not tell, in Kubernetes' words.

use std::fmt::{self, Display, Formatter};

use super::{
    GROUP, RoleRef, Subject,
    object::Who,
    policy::{Bound, Policy},
    verbs,
    wanted::Wanted,
};
use crate::{User, quote::Quoted};

/// The most errors that one message lists.
const MOST_ERRORS: usize = 64;

/// By which binding something is allowed. It is found when it is written, since mostly nobody asks:
/// the first by name of the ClusterRoleBindings that allow it, else of the RoleBindings. (Kubernetes
/// takes any of them, in the order of a hash table.)
#[derive(Clone, Debug)]
pub struct Reason<'a> {
    policy: &'a Policy,
    user: &'a User,
    namespace: &'a str,
    wanted: Wanted<'a>,
}

/// A role that a binding names and that can't be had.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Unresolved {
    ClusterRole(String),
    Role(String),
    /// No such kind of role.
    Kind(String),
}

// === impl Reason ===

impl<'a> Reason<'a> {
    pub(crate) fn new(
        policy: &'a Policy,
        user: &'a User,
        namespace: &'a str,
        wanted: Wanted<'a>,
    ) -> Reason<'a> {
        Reason { policy, user, namespace, wanted }
    }

    fn bound(&self) -> Option<&'a Bound> {
        let policy = self.policy;
        let enough = verbs::enough(self.wanted.verb);
        let rank = |bound: &Bound| (!bound.is_of_cluster(), bound.name(policy));
        let mut best: Option<&Bound> = None;
        let mut consider = |allows: &dyn Fn(&Bound) -> bool| {
            for grants in policy.grants_of(self.user, self.namespace) {
                for bound in grants.bindings.iter().filter_map(|id| policy.bound(*id)) {
                    if best.is_none_or(|best| rank(bound) < rank(best)) && allows(bound) {
                        best = Some(bound);
                    }
                }
            }
        };
        policy.words.candidates(&self.wanted, |cells| {
            consider(&|bound| bound.allows(policy, cells, enough));
            false
        });
        consider(&|bound| bound.allows_wide(policy, &self.wanted));
        best
    }
}

/// `RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to Group "z"`.
impl Display for Reason<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("RBAC: allowed by ")?;
        let Some(bound) = self.bound() else { return Ok(()) };
        let (name, namespace) = (bound.name(self.policy), bound.namespace(self.policy));
        match bound.is_of_cluster() {
            true => write!(f, "ClusterRoleBinding {}", Quoted(name))?,
            false => write!(f, "RoleBinding {}", Quoted(&format!("{name}/{namespace}")))?,
        }
        let to = &bound.binding.role_ref;
        write!(f, " of {} {}", to.kind, Quoted(&to.name))?;
        let applies = |subject: &&Subject| applies_to(subject, self.user, namespace);
        match bound.binding.subjects.iter().find(applies) {
            Some(subject) => write_subject(f, subject, namespace),
            None => Ok(()),
        }
    }
}

fn applies_to(subject: &Subject, user: &User, namespace: &str) -> bool {
    match subject.who(namespace) {
        Some(Who::User(name)) => name == user.name,
        Some(Who::Group(name)) => user.is_in(name),
        None => false,
    }
}

fn write_subject(f: &mut Formatter<'_>, subject: &Subject, namespace: &str) -> fmt::Result {
    let Subject { kind, name, .. } = subject;
    match kind.as_str() {
        "ServiceAccount" => {
            let both = format!("{name}/{}", subject.namespace_within(namespace));
            write!(f, " to {kind} {}", Quoted(&both))
        }
        _ => write!(f, " to {kind} {}", Quoted(name)),
    }
}

// === impl Unresolved ===

impl Unresolved {
    pub(crate) fn missing(to: &RoleRef) -> Unresolved {
        match to.kind.as_str() {
            "Role" => Unresolved::Role(to.name.clone()),
            _ => Unresolved::ClusterRole(to.name.clone()),
        }
    }

    /// Several as one text: each once, in brackets if there are more. Of very many, the first.
    pub(crate) fn joined(errors: &[Unresolved]) -> String {
        in_brackets(errors.iter().map(Unresolved::to_string))
    }

    /// The same in the words of a write (`in_write`).
    pub(crate) fn joined_in_write(errors: &[Unresolved], resource: &str) -> String {
        in_brackets(errors.iter().map(|error| error.in_write(resource)))
    }

    /// In the words of a write, refused or not found: Kubernetes then names the resource that is
    /// written, as if that were what is missing.
    pub fn in_write(&self, resource: &str) -> String {
        match self {
            Unresolved::ClusterRole(name) | Unresolved::Role(name) => not_found(resource, name),
            Unresolved::Kind(_) => self.to_string(),
        }
    }
}

fn not_found(what: &str, name: &str) -> String {
    format!("{what}.{GROUP} {} not found", Quoted(name))
}

fn in_brackets(errors: impl Iterator<Item = String>) -> String {
    let mut texts: Vec<String> = Vec::new();
    for text in errors {
        if texts.len() < MOST_ERRORS && !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        _ => format!("[{}]", texts.join(", ")),
    }
}

impl Display for Unresolved {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Unresolved::ClusterRole(name) => f.write_str(&not_found("clusterrole", name)),
            Unresolved::Role(name) => f.write_str(&not_found("role", name)),
            Unresolved::Kind(kind) => {
                write!(f, "unsupported role reference kind: {}", Quoted(kind))
            }
        }
    }
}
