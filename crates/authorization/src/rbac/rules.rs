//! All rules of a user in a namespace, as a SelfSubjectRulesReview shows them.
//!
//! Kubernetes lists them binding by binding, without joining or sorting them, ClusterRoleBindings
//! first. In which order it takes bindings differs from one request to the next; here it is by name.

use serde_json::{Map, Value, json};

use super::{
    Rule, Unresolved,
    policy::{Bound, Policy},
};
use crate::User;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules<'a> {
    pub all: Vec<&'a Rule>,
    /// Whether there may be rights that are not listed. RBAC lists all of its own.
    pub incomplete: bool,
    /// Roles that bindings name and that don't exist.
    pub unresolved: Vec<Unresolved>,
}

// === impl Rules ===

impl Rules<'_> {
    /// What could not be evaluated: `evaluationError`.
    pub fn evaluation_error(&self) -> Option<String> {
        (!self.unresolved.is_empty()).then(|| Unresolved::joined(&self.unresolved))
    }

    /// The status of a SelfSubjectRulesReview. What another authorizer could not evaluate comes
    /// before what RBAC could not.
    pub fn status(&self, others: &[&str]) -> Value {
        let mut status = Map::new();
        status
            .insert("resourceRules".to_owned(), self.listed(|rule| &rule.resources, without_paths));
        status.insert(
            "nonResourceRules".to_owned(),
            self.listed(|rule| &rule.non_resource_urls, only_paths),
        );
        status.insert("incomplete".to_owned(), json!(self.incomplete || !others.is_empty()));
        let own = self.evaluation_error();
        let errors: Vec<&str> = others.iter().copied().chain(own.as_deref()).collect();
        match errors.as_slice() {
            [] => {}
            [one] => drop(status.insert("evaluationError".to_owned(), json!(one))),
            more => {
                let joined = format!("[{}]", more.join(", "));
                status.insert("evaluationError".to_owned(), json!(joined));
            }
        }
        Value::Object(status)
    }

    fn listed(&self, about: fn(&Rule) -> &Vec<String>, form: fn(&Rule) -> Rule) -> Value {
        let rules = self.all.iter().filter(|rule| !about(rule).is_empty());
        Value::Array(rules.map(|rule| form(rule).to_value()).collect())
    }
}

fn without_paths(rule: &Rule) -> Rule {
    Rule { non_resource_urls: Vec::new(), ..rule.clone() }
}

fn only_paths(rule: &Rule) -> Rule {
    let Rule { verbs, non_resource_urls, .. } = rule.clone();
    Rule { verbs, non_resource_urls, ..Rule::default() }
}

// === impl Policy ===

impl Policy {
    /// All rules of a user, in the cluster and in the namespace.
    pub fn rules<'a>(&'a self, user: &User, namespace: &str) -> Rules<'a> {
        let mut rules = Rules::default();
        for bound in self.bound_to(user, namespace) {
            match bound.rules(self) {
                Ok(of) => rules.all.extend(of),
                Err(unresolved) => rules.unresolved.push(unresolved),
            }
        }
        rules
    }

    /// The roles that the user is bound to and that don't exist, in the order of `rules`. This looks
    /// only at subjects that have any.
    pub(crate) fn unresolved(&self, user: &User, namespace: &str) -> Vec<Unresolved> {
        let grants = self.grants_of(user, namespace).filter(|grants| grants.unresolved > 0);
        let ids = grants.flat_map(|grants| grants.bindings.iter().copied());
        let missing = |id: &u32| self.bound(*id).is_some_and(|bound| bound.rules(self).is_err());
        let bound = self.in_order(ids.filter(missing).collect());
        bound.into_iter().filter_map(|bound| bound.rules(self).err()).collect()
    }

    /// The bindings of a user, each once, those of the cluster first.
    fn bound_to<'a>(&'a self, user: &User, namespace: &str) -> Vec<&'a Bound> {
        let grants = self.grants_of(user, namespace);
        self.in_order(grants.flat_map(|grants| grants.bindings.iter().copied()).collect())
    }

    fn in_order(&self, mut ids: Vec<u32>) -> Vec<&Bound> {
        ids.sort_unstable();
        ids.dedup();
        let mut all: Vec<&Bound> = ids.into_iter().filter_map(|id| self.bound(id)).collect();
        all.sort_by_key(|bound| (!bound.is_of_cluster(), bound.name(self)));
        all
    }
}
