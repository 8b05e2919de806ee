//! Nobody may grant more than they hold.
//!
//! Who writes a role, or binds one, must hold every right in it, unless a rule allows `escalate` or
//! `bind` explicitly. As in Kubernetes, the rules to be granted are broken into single rights, and
//! those that are not held are listed, joined again by resource.
//!
//! Each single right is looked up in the index of the user's rights, so that ten thousand rules
//! against ten thousand take no more than ten thousand lookups.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{
    Policy, Rule, Unresolved,
    single::{SingleOn, n_singles, singles},
    wanted::Wanted,
};
use crate::{
    MASTERS, User,
    quote::{Quoted, QuotedList},
};

/// When this many single rights were looked up, further rules are not broken up. Who holds everything
/// may grant them, and to all others they are listed as they are; Kubernetes would run out of memory.
const MOST_RIGHTS: usize = 1 << 18;
/// When this many single rights are missing, no further ones are looked for.
const MOST_MISSING: usize = 1 << 16;

/// What a user wanted to grant and does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation {
    user: String,
    groups: Vec<String>,
    /// As the message lists them: sorted, each once.
    missing: BTreeSet<String>,
    unresolved: Vec<Unresolved>,
}

/// Whether a user holds all of these rules, in the namespace or, without one, in the cluster.
pub fn missing(
    policy: &Policy,
    user: &User,
    scope: Option<&str>,
    rules: &[Rule],
) -> Result<(), Escalation> {
    let namespace = scope.unwrap_or_default();
    // A right that no cell has is looked for in each wide rule.
    let rights = MOST_RIGHTS / (1 + policy.n_wide_rules(user, namespace));
    let mut lacking = Lacking { rights, ..Lacking::default() };
    for rule in rules {
        if lacking.n_missing < MOST_MISSING {
            lacking.check(rule, |wanted| policy.holds(user, namespace, wanted));
        }
    }
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Escalation {
        user: user.name.clone(),
        groups: user.groups.clone(),
        missing: lacking.described(),
        unresolved: policy.unresolved(user, namespace),
    })
}

/// Whether nothing needs to be checked for a user.
pub fn is_exempt(user: &User) -> bool {
    user.is_in(MASTERS)
}

/// Holding these rules is holding everything. Whoever sets an aggregation rule must.
pub fn everything() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    let resources = Rule { verbs: all(), api_groups: all(), resources: all(), ..Rule::default() };
    let paths = Rule { verbs: all(), non_resource_urls: all(), ..Rule::default() };
    [resources, paths]
}

/// Single rights that are not held.
#[derive(Default)]
struct Lacking<'a> {
    /// Verbs by resource and name, in the order in which they are found.
    resources: FxHashMap<SingleOn<'a>, Vec<String>>,
    others: Vec<Rule>,
    n_missing: usize,
    /// How many may still be looked up.
    rights: usize,
}

// === impl Lacking ===

impl<'a> Lacking<'a> {
    fn check(&mut self, rule: &'a Rule, holds: impl Fn(&Wanted<'a>) -> bool) {
        let n = n_singles(rule);
        if n > self.rights {
            let all = Wanted::granted("*", "*", "*", None);
            if !(holds(&all) && holds(&Wanted::granted_path("*", "*"))) {
                self.others.push(rule.clone());
            }
            return;
        }
        self.rights -= n;
        let missing = singles(rule).filter(|single| !holds(&single.wanted()));
        for single in missing.take(MOST_MISSING - self.n_missing) {
            self.n_missing += 1;
            match single.on {
                SingleOn::Path(_) => self.others.push(single.to_rule()),
                on => self.resources.entry(on).or_default().push(single.verb.to_owned()),
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.others.is_empty()
    }

    fn described(self) -> BTreeSet<String> {
        let of_resources = self.resources.into_iter().map(|(on, verbs)| on.with(verbs));
        of_resources.chain(self.others).map(|rule| rule.to_string()).collect()
    }
}

// === impl Escalation ===

impl Escalation {
    /// What follows `is forbidden: ` in the refusal of a write to this resource (`roles`,
    /// `rolebindings`, …).
    pub fn message(&self, resource: &str) -> String {
        let Escalation { user, groups, missing, unresolved } = self;
        let (user, groups) = (Quoted(user), QuotedList(groups));
        let mut message = format!(
            "user {user} (groups={groups}) is attempting to grant RBAC permissions not currently held:"
        );
        for rule in missing {
            message.push('\n');
            message.push_str(rule);
        }
        if !unresolved.is_empty() {
            let errors = Unresolved::joined_in_write(unresolved, resource);
            message.push_str(&format!("; resolution errors: [{errors}]"));
        }
        message
    }
}
