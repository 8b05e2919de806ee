//! All roles and bindings, indexed: who is allowed what.
//!
//! A request is looked up in two steps. `words` says which cells, in whatever role, would allow it;
//! mostly there are one to three. Then each subject of the user (its name and its groups) is looked
//! up in the cluster's scope and in the namespace, and asked for these cells (`grants`). The cost
//! depends on the user's groups, not on the number of roles, bindings or rules.
//!
//! A change costs what the changed object has in entries, times the subjects that it is merged for.

use rustc_hash::FxBuildHasher;

use super::{
    Binding, Reason, Role, RoleRef, Rule, Subject, Unresolved,
    cells::Compiled,
    grants::{Budget, Grants},
    intern::Interner,
    object::Who,
    verbs,
    wanted::Wanted,
    words::{NONE, Words},
};
use crate::{Attributes, User};

/// In place of a namespace: the cluster.
const CLUSTER: u32 = NONE;
/// In place of a namespace: where no role can be. A ClusterRoleBinding to a Role looks there.
const NOWHERE: u32 = NONE - 1;

#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub(crate) words: Words,
    /// Roles that exist or that bindings name.
    role_ids: Interner<Key, FxBuildHasher>,
    roles: Vec<RoleSlot>,
    binding_ids: Interner<Key, FxBuildHasher>,
    bindings: Vec<Option<Bound>>,
    /// Subjects within a scope.
    grant_ids: Interner<Key, FxBuildHasher>,
    grants: Vec<Grants>,
    budget: Budget,
    /// How many roles have rules that stay rules.
    n_wide: usize,
}

/// Something with a name in a scope. It refers to the symbols of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    scope: u32,
    name: u32,
    /// Of subjects: a group.
    is_group: bool,
}

#[derive(Clone, Debug, Default)]
struct RoleSlot {
    compiled: Option<Compiled>,
    /// The grants that hold it, sorted.
    grants: Vec<u32>,
}

/// A binding in force.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    key: Key,
    pub(crate) binding: Binding,
    /// `None` for a kind of role that does not exist.
    role: Option<u32>,
    /// The grants of its subjects, each once.
    grants: Vec<u32>,
}

// === impl Policy ===

impl Policy {
    /// Sets or removes a Role of a namespace, or without one a ClusterRole.
    pub fn set_role(&mut self, scope: Option<&str>, name: &str, role: Option<Role>) {
        let key = self.key(scope, name);
        let known = self.role_ids.find(&key);
        let Some(role) = role else {
            release_key(&mut self.words, key);
            if let Some(id) = known.filter(|id| self.roles[*id as usize].compiled.is_some()) {
                self.replace_role(id, None);
                self.leave_role(id);
            }
            return;
        };
        let id = match known {
            Some(id) if self.roles[id as usize].compiled.is_some() => {
                release_key(&mut self.words, key);
                id
            }
            _ => self.enter_role(key),
        };
        let compiled = Compiled::new(role.rules, &mut self.words);
        self.replace_role(id, Some(compiled));
    }

    /// Sets or removes a RoleBinding of a namespace, or without one a ClusterRoleBinding.
    pub fn set_binding(&mut self, scope: Option<&str>, name: &str, binding: Option<Binding>) {
        let key = self.key(scope, name);
        let known = self.binding_ids.find(&key);
        let old = known.and_then(|id| self.bindings[id as usize].as_ref());
        if old.map(|old| &old.binding) == binding.as_ref() {
            return release_key(&mut self.words, key);
        }
        if let Some(id) = known {
            self.unbind(id);
        }
        match binding {
            Some(binding) => self.bind(key, binding),
            None => release_key(&mut self.words, key),
        }
    }

    /// Whether RBAC allows it, and by what.
    pub fn authorize<'a>(
        &'a self,
        user: &'a User,
        attributes: &Attributes<'a>,
    ) -> Option<Reason<'a>> {
        let wanted = Wanted::of(attributes);
        let namespace = attributes.namespace();
        self.holds(user, namespace, &wanted).then(|| Reason::new(self, user, namespace, wanted))
    }

    /// Whether RBAC allows it.
    pub fn allows(&self, user: &User, attributes: &Attributes<'_>) -> bool {
        self.holds(user, attributes.namespace(), &Wanted::of(attributes))
    }

    /// What RBAC says where it does not allow: nothing, or which roles that the user is bound to
    /// don't exist.
    pub fn refusal(&self, user: &User, namespace: &str) -> Option<String> {
        let unresolved = self.unresolved(user, namespace);
        (!unresolved.is_empty()).then(|| format!("RBAC: {}", Unresolved::joined(&unresolved)))
    }

    /// The rules of the role that a binding in this scope refers to.
    pub fn referenced(&self, scope: Option<&str>, to: &RoleRef) -> Result<&[Rule], Unresolved> {
        let in_scope = match (to.kind.as_str(), scope) {
            ("ClusterRole", _) => Some(CLUSTER),
            ("Role", Some(namespace)) => self.words.find(namespace),
            ("Role", None) => None,
            _ => return Err(Unresolved::Kind(to.kind.clone())),
        };
        let key = in_scope.zip(self.words.find(&to.name));
        let id =
            key.and_then(|(scope, name)| self.role_ids.find(&Key { scope, name, is_group: false }));
        let compiled = id.and_then(|id| self.compiled(id));
        compiled.map(|role| role.rules.as_slice()).ok_or_else(|| Unresolved::missing(to))
    }

    /// Whether the user holds a right.
    pub(crate) fn holds(&self, user: &User, namespace: &str, wanted: &Wanted<'_>) -> bool {
        let enough = verbs::enough(wanted.verb);
        let has = |cells: &[u32]| {
            self.grants_of(user, namespace).any(|grants| {
                let has =
                    |role: &u32| self.compiled(*role).is_some_and(|role| role.has(cells, enough));
                grants.has(cells, enough) || grants.alone.iter().any(has)
            })
        };
        self.words.candidates(wanted, has)
            || (self.n_wide > 0 && self.holds_wide(user, namespace, wanted))
    }

    fn holds_wide(&self, user: &User, namespace: &str, wanted: &Wanted<'_>) -> bool {
        let has = |role: &u32| self.compiled(*role).is_some_and(|role| role.has_wide(wanted));
        self.grants_of(user, namespace).any(|grants| grants.alone.iter().any(has))
    }

    /// How many rules of the user are looked at one by one.
    pub(crate) fn n_wide_rules(&self, user: &User, namespace: &str) -> usize {
        let n = |role: &u32| self.compiled(*role).map_or(0, |role| role.wide.len());
        self.grants_of(user, namespace).flat_map(|grants| &grants.alone).map(n).sum()
    }

    /// What the user's subjects are given in the cluster and in the namespace.
    pub(crate) fn grants_of(&self, user: &User, namespace: &str) -> impl Iterator<Item = &Grants> {
        let scope = if namespace.is_empty() { None } else { self.words.find(namespace) };
        let groups = user.groups.iter().map(|group| (group, true));
        std::iter::once((&user.name, false)).chain(groups).flat_map(move |(name, is_group)| {
            let name = self.words.find(name);
            let in_scope = move |scope: u32| {
                let key = Key { scope, name: name?, is_group };
                Some(&self.grants[self.grant_ids.find(&key)? as usize])
            };
            [in_scope(CLUSTER), scope.and_then(in_scope)].into_iter().flatten()
        })
    }

    pub(crate) fn bound(&self, binding: u32) -> Option<&Bound> {
        self.bindings.get(binding as usize)?.as_ref()
    }

    fn compiled(&self, role: u32) -> Option<&Compiled> {
        self.roles[role as usize].compiled.as_ref()
    }

    /// A key with a reference to each of its symbols.
    fn key(&mut self, scope: Option<&str>, name: &str) -> Key {
        let scope = scope.map_or(CLUSTER, |namespace| self.words.symbol(namespace));
        Key { scope, name: self.words.symbol(name), is_group: false }
    }

    fn replace_role(&mut self, id: u32, after: Option<Compiled>) {
        let slot = &mut self.roles[id as usize];
        let before = std::mem::replace(&mut slot.compiled, after);
        let after = slot.compiled.as_ref();
        let n = |role: Option<&Compiled>| role.map_or(0, |role| role.cells.len());
        let wide =
            |role: Option<&Compiled>| usize::from(role.is_some_and(|role| !role.wide.is_empty()));
        self.budget.cells = self.budget.cells + n(after) - n(before.as_ref());
        self.n_wide = self.n_wide + wide(after) - wide(before.as_ref());
        for grants in &slot.grants {
            let states = [before.as_ref(), after];
            self.grants[*grants as usize].changed(id, states, &mut self.budget);
        }
        if let Some(before) = before {
            before.release(&mut self.words);
        }
    }

    fn enter_role(&mut self, key: Key) -> u32 {
        let id = enter(&mut self.role_ids, &mut self.words, key);
        if self.roles.len() <= id as usize {
            self.roles.resize_with(id as usize + 1, RoleSlot::default);
        }
        id
    }

    fn leave_role(&mut self, id: u32) {
        if let Some(key) = self.role_ids.release(id) {
            release_key(&mut self.words, key);
        }
    }

    fn bind(&mut self, key: Key, binding: Binding) {
        let id = enter(&mut self.binding_ids, &mut self.words, key);
        let role = self.role_of(key.scope, &binding.role_ref);
        let mut grants: Vec<u32> = Vec::new();
        for subject in &binding.subjects {
            grants.extend(self.enter_subject(key.scope, subject));
        }
        grants.sort_unstable();
        grants.dedup_by(|later, first| {
            let same = later == first;
            if same {
                self.grant_ids.release(*later);
            }
            same
        });
        self.budget.subjects += grants.len();
        for of in &grants {
            self.give(*of, id, role);
        }
        if self.bindings.len() <= id as usize {
            self.bindings.resize_with(id as usize + 1, || None);
        }
        self.bindings[id as usize] = Some(Bound { key, binding, role, grants });
    }

    fn unbind(&mut self, id: u32) {
        let Some(bound) = self.bindings[id as usize].take() else { return };
        self.budget.subjects -= bound.grants.len();
        for of in &bound.grants {
            self.take(*of, id, bound.role);
            if let Some(key) = self.grant_ids.release(*of) {
                self.grants[*of as usize] = Grants::default();
                release_key(&mut self.words, key);
            }
        }
        if let Some(role) = bound.role {
            self.leave_role(role);
        }
        if let Some(key) = self.binding_ids.release(id) {
            release_key(&mut self.words, key);
        }
    }

    /// The role that a binding names, with a reference.
    fn role_of(&mut self, scope: u32, to: &RoleRef) -> Option<u32> {
        let scope = match to.kind.as_str() {
            "ClusterRole" => CLUSTER,
            "Role" if scope == CLUSTER => NOWHERE,
            "Role" => {
                self.words.retain(scope);
                scope
            }
            _ => return None,
        };
        let key = Key { scope, name: self.words.symbol(&to.name), is_group: false };
        Some(self.enter_role(key))
    }

    /// The grants of a subject, with a reference.
    fn enter_subject(&mut self, scope: u32, subject: &Subject) -> Option<u32> {
        let namespace = if scope == CLUSTER { "" } else { self.words.text(scope) };
        let (name, is_group) = match subject.who(namespace)? {
            Who::User(name) => (name, false),
            Who::Group(name) => (name.into(), true),
        };
        let name = self.words.symbol(&name);
        if scope != CLUSTER {
            self.words.retain(scope);
        }
        let id = enter(&mut self.grant_ids, &mut self.words, Key { scope, name, is_group });
        if self.grants.len() <= id as usize {
            self.grants.resize_with(id as usize + 1, Grants::default);
        }
        Some(id)
    }

    fn give(&mut self, of: u32, binding: u32, role: Option<u32>) {
        let grants = &mut self.grants[of as usize];
        if let Err(place) = grants.bindings.binary_search(&binding) {
            grants.bindings.insert(place, binding);
        }
        let Some(role) = role else {
            grants.unresolved += 1;
            return;
        };
        let slot = &mut self.roles[role as usize];
        if let Err(place) = slot.grants.binary_search(&of) {
            slot.grants.insert(place, of);
        }
        grants.add(role, slot.compiled.as_ref(), &mut self.budget);
        grants.settle(|role| self.roles[role as usize].compiled.as_ref(), &mut self.budget);
    }

    fn take(&mut self, of: u32, binding: u32, role: Option<u32>) {
        let grants = &mut self.grants[of as usize];
        if let Ok(place) = grants.bindings.binary_search(&binding) {
            grants.bindings.remove(place);
        }
        let Some(role) = role else {
            grants.unresolved -= 1;
            return;
        };
        let slot = &mut self.roles[role as usize];
        if grants.remove(role, slot.compiled.as_ref(), &mut self.budget)
            && let Ok(place) = slot.grants.binary_search(&of)
        {
            slot.grants.remove(place);
        }
        grants.settle(|role| self.roles[role as usize].compiled.as_ref(), &mut self.budget);
    }
}

/// The number of a key, with a reference. A key that is known already gives its symbols back.
fn enter(ids: &mut Interner<Key, FxBuildHasher>, words: &mut Words, key: Key) -> u32 {
    match ids.refer(&key) {
        Some(id) => {
            release_key(words, key);
            id
        }
        None => ids.insert(key),
    }
}

fn release_key(words: &mut Words, key: Key) {
    if key.scope < NOWHERE {
        words.release(key.scope);
    }
    words.release(key.name);
}

// === impl Bound ===

impl Bound {
    pub(crate) fn name<'a>(&self, policy: &'a Policy) -> &'a str {
        policy.words.text(self.key.name)
    }

    /// Its namespace; empty for a ClusterRoleBinding.
    pub(crate) fn namespace<'a>(&self, policy: &'a Policy) -> &'a str {
        if self.is_of_cluster() { "" } else { policy.words.text(self.key.scope) }
    }

    pub(crate) fn is_of_cluster(&self) -> bool {
        self.key.scope == CLUSTER
    }

    /// The rules it gives.
    pub(crate) fn rules<'a>(&'a self, policy: &'a Policy) -> Result<&'a [Rule], Unresolved> {
        let Some(role) = self.role else {
            return Err(Unresolved::Kind(self.binding.role_ref.kind.clone()));
        };
        let rules = policy.compiled(role).map(|role| role.rules.as_slice());
        rules.ok_or_else(|| Unresolved::missing(&self.binding.role_ref))
    }

    /// Whether its role allows something.
    pub(crate) fn allows(&self, policy: &Policy, cells: &[u32], enough: u32) -> bool {
        let role = self.role.and_then(|role| policy.compiled(role));
        role.is_some_and(|role| role.has(cells, enough))
    }

    pub(crate) fn allows_wide(&self, policy: &Policy, wanted: &Wanted<'_>) -> bool {
        let role = self.role.and_then(|role| policy.compiled(role));
        role.is_some_and(|role| role.has_wide(wanted))
    }
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
