//! Rules broken into single rights: one verb on one resource, under one name or any, or on one path.

use super::{Rule, cells::Compiled, verbs, wanted::Wanted, words::Words};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Single<'a> {
    pub(crate) verb: &'a str,
    pub(crate) on: SingleOn<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SingleOn<'a> {
    Resource { group: &'a str, resource: &'a str, name: Option<&'a str> },
    Path(&'a str),
}

/// All single rights of a rule, in Kubernetes' order: by group, resource, verb and name, then paths.
pub(crate) fn singles(rule: &Rule) -> impl Iterator<Item = Single<'_>> {
    let Rule { verbs, api_groups, resources, resource_names, non_resource_urls } = rule;
    let names = move || {
        let any = resource_names.is_empty().then_some(None);
        any.into_iter().chain(resource_names.iter().map(|name| Some(name.as_str())))
    };
    let of_resource = move |group, resource| {
        verbs.iter().flat_map(move |verb| {
            names()
                .map(move |name| Single { verb, on: SingleOn::Resource { group, resource, name } })
        })
    };
    let of_group = move |group| {
        resources.iter().flat_map(move |resource| of_resource(group, resource.as_str()))
    };
    let of_path = |path| verbs.iter().map(move |verb| Single { verb, on: SingleOn::Path(path) });
    let on_resources = api_groups.iter().flat_map(move |group| of_group(group.as_str()));
    on_resources.chain(non_resource_urls.iter().flat_map(move |path| of_path(path.as_str())))
}

/// How many they are.
pub(crate) fn n_singles(rule: &Rule) -> usize {
    let Rule { verbs, api_groups, resources, resource_names, non_resource_urls } = rule;
    let on_resources = api_groups.len().saturating_mul(resources.len());
    on_resources
        .saturating_mul(resource_names.len().max(1))
        .saturating_add(non_resource_urls.len())
        .saturating_mul(verbs.len())
}

/// The single rights of `wanted` that the rules don't have.
pub(crate) fn uncovered(rules: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let mut words = Words::default();
    let own = Compiled::new(rules.to_vec(), &mut words);
    let has = |single: &Single<'_>| {
        let wanted = single.wanted();
        words.candidates(&wanted, |cells| own.has(cells, verbs::enough(single.verb)))
            || own.has_wide(&wanted)
    };
    wanted.iter().flat_map(singles).filter(|one| !has(one)).map(Single::to_rule).collect()
}

// === impl Single ===

impl<'a> Single<'a> {
    pub(crate) fn wanted(&self) -> Wanted<'a> {
        match self.on {
            SingleOn::Resource { group, resource, name } => {
                Wanted::granted(self.verb, group, resource, name)
            }
            SingleOn::Path(path) => Wanted::granted_path(self.verb, path),
        }
    }

    pub(crate) fn to_rule(self) -> Rule {
        self.on.with(vec![self.verb.to_owned()])
    }
}

// === impl SingleOn ===

impl SingleOn<'_> {
    pub(crate) fn with(self, verbs: Vec<String>) -> Rule {
        match self {
            SingleOn::Resource { group, resource, name } => Rule {
                verbs,
                api_groups: vec![group.to_owned()],
                resources: vec![resource.to_owned()],
                resource_names: name.map(str::to_owned).into_iter().collect(),
                ..Rule::default()
            },
            SingleOn::Path(path) => {
                Rule { verbs, non_resource_urls: vec![path.to_owned()], ..Rule::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_is_broken_up_in_order() {
        let rule = Rule::of(&json!({"verbs": ["get", "put"], "apiGroups": ["a", "b"],
            "resources": ["r"], "resourceNames": ["n", "m"], "nonResourceURLs": ["/p"]}));
        let texts: Vec<String> = singles(&rule)
            .map(|one| match one.on {
                SingleOn::Resource { group, resource, name } => {
                    format!("{group} {resource} {} {}", one.verb, name.unwrap_or("-"))
                }
                SingleOn::Path(path) => format!("{path} {}", one.verb),
            })
            .collect();
        let expected = [
            "a r get n",
            "a r get m",
            "a r put n",
            "a r put m",
            "b r get n",
            "b r get m",
            "b r put n",
            "b r put m",
            "/p get",
            "/p put",
        ];
        assert_eq!(texts, expected);
        assert_eq!(n_singles(&rule), expected.len());
    }
}
