//! Which objects a component follows.

use std::collections::BTreeSet;

use evenkeel_model::label;

use super::Resource;
use crate::watched::MeshKind;

/// The kinds that a component follows, and of each which objects. `None`: it has no such watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selectors {
    pub nodes: Option<Selector>,
    pub pods: Option<Selector>,
    pub services: Option<Selector>,
    pub endpoint_slices: Option<Selector>,
    /// Of one namespace: see [`Selector::reports`].
    pub leases: Option<Selector>,
    /// All objects of these kinds, as soon as their definitions are installed.
    pub mesh: BTreeSet<MeshKind>,
}

/// The objects of one kind that are followed: all, or those that both selectors match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// As in `app=web,!service.kubernetes.io/headless`.
    pub labels: Option<String>,
    /// As in `metadata.name=node-1`.
    pub fields: Option<String>,
    /// Leases are followed in this namespace only, all else in all.
    pub namespace: Option<String>,
}

static ALL: Selector = Selector { labels: None, fields: None, namespace: None };

// === impl Selectors ===

impl Selectors {
    pub fn of(&self, resource: Resource) -> Option<&Selector> {
        match resource {
            Resource::Nodes => self.nodes.as_ref(),
            Resource::Pods => self.pods.as_ref(),
            Resource::Services => self.services.as_ref(),
            Resource::EndpointSlices => self.endpoint_slices.as_ref(),
            Resource::Leases => self.leases.as_ref(),
            Resource::Mesh(kind) => self.mesh.contains(&kind).then_some(&ALL),
        }
    }

    /// What is followed.
    pub fn resources(&self) -> impl Iterator<Item = Resource> {
        Resource::all().filter(|resource| self.of(*resource).is_some())
    }
}

// === impl Selector ===

impl Selector {
    pub fn all() -> Selector {
        Selector::default()
    }

    pub fn labels(selector: impl Into<String>) -> Selector {
        Selector { labels: Some(selector.into()), ..Selector::default() }
    }

    /// The one object of this name (of each namespace, for kinds that have one).
    pub fn named(name: &str) -> Selector {
        let mut fields = "metadata.name=".to_owned();
        for letter in name.chars() {
            if matches!(letter, '\\' | ',' | '=') {
                fields.push('\\');
            }
            fields.push(letter);
        }
        Selector { fields: Some(fields), ..Selector::default() }
    }

    /// The Leases with the reports of proxies.
    pub fn reports(namespace: impl Into<String>) -> Selector {
        let labels = format!("{}={}", label::COMPONENT, label::PROXY);
        Selector { namespace: Some(namespace.into()), ..Selector::labels(labels) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_name_whatever_it_holds() {
        let fields = |name| Selector::named(name).fields.unwrap();
        assert_eq!(fields("node-1.example"), "metadata.name=node-1.example");
        assert_eq!(fields(r"a,b=c\d"), r"metadata.name=a\,b\=c\\d");
    }

    #[test]
    fn what_has_no_selector_is_not_followed() {
        let selectors = Selectors { pods: Some(Selector::all()), ..Selectors::default() };
        assert_eq!(selectors.resources().collect::<Vec<_>>(), [Resource::Pods]);
        let mesh = [MeshKind::MeshService, MeshKind::Dataplane];
        let selectors = Selectors { mesh: mesh.into(), ..Selectors::default() };
        let resources = selectors.resources().map(Resource::name);
        assert_eq!(resources.collect::<Vec<_>>(), ["dataplanes", "meshservices"]);
    }
}
