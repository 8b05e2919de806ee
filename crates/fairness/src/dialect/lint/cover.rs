//! Whether one predicate provably takes everything another does. No answer is wrong, but many are
//! missing: predicates are compared part by part, without looking at what parts mean together.

use crate::config::{
    Conjunction, Names, NonResourceRule, Op, Predicate, ResourceRule, Rule, Subject, Test, Url,
};

impl Predicate {
    /// Whether it is true of every request, as far as can be seen.
    pub(in crate::dialect) fn is_unconditional(&self) -> bool {
        match self {
            Predicate::Match(conjunctions) => conjunctions.iter().any(|c| c.tests.is_empty()),
            Predicate::Rules(rules) => rules.iter().any(Rule::is_unconditional),
        }
    }

    /// Whether it is true of no request, as far as can be seen.
    pub(super) fn is_never(&self) -> bool {
        match self {
            Predicate::Match(conjunctions) => conjunctions.is_empty(),
            Predicate::Rules(rules) => rules.iter().all(|rule| {
                let no_rules = rule.resource_rules.is_empty() && rule.non_resource_rules.is_empty();
                rule.subjects.is_empty() || no_rules
            }),
        }
    }

    /// A text that is the same for the same predicate.
    pub(super) fn form(&self) -> String {
        format!("{self:?}")
    }

    pub(super) fn covers(&self, other: &Predicate) -> bool {
        match (self, other) {
            (Predicate::Match(ours), Predicate::Match(theirs)) => {
                theirs.iter().all(|their| ours.iter().any(|our| our.covers(their)))
            }
            (Predicate::Rules(ours), Predicate::Rules(theirs)) => {
                theirs.iter().all(|their| ours.iter().any(|our| our.covers(their)))
            }
            _ => false,
        }
    }
}

impl Conjunction {
    /// A conjunction takes less the more tests it has.
    fn covers(&self, other: &Conjunction) -> bool {
        self.tests.iter().all(|our| other.tests.iter().any(|their| our.follows_from(their)))
    }
}

impl Test {
    fn follows_from(&self, other: &Test) -> bool {
        if self.field != other.field || self.negated != other.negated {
            return false;
        }
        // Of a negated test the converse holds.
        let (weak, strong) = if self.negated { (other, self) } else { (self, other) };
        match (&weak.op, &strong.op) {
            (Op::Equals(a), Op::Equals(b)) => a == b,
            (Op::InSet(set), Op::Equals(value)) => set.contains(value),
            (Op::InSet(a), Op::InSet(b)) => b.iter().all(|value| a.contains(value)),
            (Op::SuperSet(a), Op::SuperSet(b)) => a.iter().all(|value| b.contains(value)),
            (Op::Pattern(a), Op::Pattern(b)) => a.as_str() == b.as_str(),
            (Op::Pattern(pattern), Op::Equals(value)) => pattern.is_match(value),
            (Op::Pattern(pattern), Op::InSet(set)) => set.iter().all(|v| pattern.is_match(v)),
            _ => false,
        }
    }
}

impl Rule {
    fn is_unconditional(&self) -> bool {
        self.subjects.contains(&Subject::Anyone)
            && self.resource_rules.iter().any(ResourceRule::is_unconditional)
            && self.non_resource_rules.iter().any(NonResourceRule::is_unconditional)
    }

    fn covers(&self, other: &Rule) -> bool {
        let subject = |their: &Subject| self.subjects.iter().any(|our| our.covers(their));
        let resource =
            |their: &ResourceRule| self.resource_rules.iter().any(|our| our.covers(their));
        let other_rule =
            |their: &NonResourceRule| self.non_resource_rules.iter().any(|our| our.covers(their));
        other.subjects.iter().all(subject)
            && other.resource_rules.iter().all(resource)
            && other.non_resource_rules.iter().all(other_rule)
    }
}

impl Subject {
    fn covers(&self, other: &Subject) -> bool {
        match (self, other) {
            (Subject::Anyone, _) => true,
            (Subject::ServiceAccountsOf(ours), Subject::ServiceAccount { namespace, .. }) => {
                ours == namespace
            }
            _ => self == other,
        }
    }
}

impl Names {
    fn covers(&self, other: &Names) -> bool {
        match (self, other) {
            (Names::Any, _) => true,
            (Names::Of(_), Names::Any) => false,
            (Names::Of(ours), Names::Of(theirs)) => theirs.iter().all(|name| ours.contains(name)),
        }
    }
}

impl ResourceRule {
    fn is_unconditional(&self) -> bool {
        let ResourceRule { verbs, api_groups, resources, cluster_scope, namespaces } = self;
        let any = [verbs, api_groups, resources, namespaces].iter().all(|n| **n == Names::Any);
        any && *cluster_scope
    }

    fn covers(&self, other: &ResourceRule) -> bool {
        self.verbs.covers(&other.verbs)
            && self.api_groups.covers(&other.api_groups)
            && self.resources.covers(&other.resources)
            && self.namespaces.covers(&other.namespaces)
            && (self.cluster_scope || !other.cluster_scope)
    }
}

impl NonResourceRule {
    fn is_unconditional(&self) -> bool {
        self.verbs == Names::Any && self.urls.contains(&Url::Any)
    }

    fn covers(&self, other: &NonResourceRule) -> bool {
        let url = |their: &Url| self.urls.iter().any(|our| our.covers(their));
        self.verbs.covers(&other.verbs) && other.urls.iter().all(url)
    }
}

impl Url {
    fn covers(&self, other: &Url) -> bool {
        match (self, other) {
            (Url::Any, _) => true,
            (Url::Path { .. }, Url::Any) => false,
            (Url::Path { prefix: ours, .. }, Url::Path { exact, prefix }) => {
                self == other || (exact.starts_with(&**ours) && prefix.starts_with(&**ours))
            }
        }
    }
}
