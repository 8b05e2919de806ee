//! Names as users of kubectl give them, to objects.

use evenkeel_model::{ServiceKey, ServiceState, Snapshot};

use crate::{
    error::Error,
    input::{Input, Wanted},
};

/// A Service as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceName<'a> {
    pub namespace: Option<&'a str>,
    pub name: &'a str,
}

/// Kinds that are named like a namespace in `KIND/NAME`.
const OTHER_KINDS: [&str; 16] = [
    "pod",
    "pods",
    "po",
    "deployment",
    "deployments",
    "deploy",
    "node",
    "nodes",
    "no",
    "endpoints",
    "ep",
    "endpointslice",
    "endpointslices",
    "daemonset",
    "statefulset",
    "ingress",
];

/// `web`, `svc/web`, `shop/web` or `svc/shop/web`; `service` and `services` as `svc`.
pub(crate) fn service_ref(given: &str) -> Result<ServiceName<'_>, Error> {
    let wrong = || Error::NotAService { given: given.to_owned() };
    let parts: Vec<&str> = given.split('/').collect();
    let named = match parts.as_slice() {
        [name] => ServiceName { namespace: None, name },
        [kind, name] if is_service(kind) => ServiceName { namespace: None, name },
        [kind, _] if OTHER_KINDS.contains(&kind.to_ascii_lowercase().as_str()) => {
            return Err(wrong());
        }
        [namespace, name] => ServiceName { namespace: Some(namespace), name },
        [kind, namespace, name] if is_service(kind) => {
            ServiceName { namespace: Some(namespace), name }
        }
        _ => return Err(wrong()),
    };
    let is_empty = named.name.is_empty() || named.namespace == Some("");
    if is_empty { Err(wrong()) } else { Ok(named) }
}

fn is_service(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    matches!(kind.as_str(), "svc" | "service" | "services" | "service.v1" | "services.v1.")
}

/// `svc/web`, `service/web`, `services/web` or `web`.
pub(crate) fn service_name(given: &str) -> Result<&str, Error> {
    match service_ref(given)? {
        ServiceName { namespace: None, name } => Ok(name),
        ServiceName { .. } => Err(Error::NotAService { given: given.to_owned() }),
    }
}

/// What to read of a cluster for the named Services, or for all if none is named.
pub(crate) fn wanted<'a>(named: &[ServiceName<'a>], all_namespaces: bool) -> Wanted<'a> {
    match named {
        _ if all_namespaces => Wanted::All,
        [ServiceName { namespace: Some(namespace), name }] => Wanted::In { namespace, name },
        [ServiceName { namespace: None, name }] => Wanted::One(name),
        named if named.iter().all(|service| service.namespace.is_none()) => Wanted::Namespace,
        _ => Wanted::All,
    }
}

/// The named Services; with `all_namespaces` those of that name in every namespace.
pub(crate) fn named<'a>(
    input: &'a Input,
    named: &[ServiceName<'_>],
    all_namespaces: bool,
) -> Result<Vec<&'a ServiceState>, Error> {
    let mut found = Vec::with_capacity(named.len());
    for ServiceName { namespace, name } in named {
        let everywhere = all_namespaces && namespace.is_none();
        let is_named = |state: &&ServiceState| *state.service.key.name == **name;
        let all: Vec<_> = input.snapshot.states().filter(is_named).collect();
        if everywhere && !all.is_empty() {
            found.extend(all);
        } else {
            let namespace = namespace.unwrap_or(&input.namespace);
            found.push(service_in(input, namespace, name)?);
        }
    }
    Ok(found)
}

/// The Service of that name in the namespace in force.
pub(crate) fn service<'a>(input: &'a Input, name: &str) -> Result<&'a ServiceState, Error> {
    service_in(input, &input.namespace, name)
}

pub(crate) fn service_in<'a>(
    input: &'a Input,
    namespace: &str,
    name: &str,
) -> Result<&'a ServiceState, Error> {
    let key = ServiceKey::new(namespace, name);
    input.snapshot.service(&key).ok_or_else(|| Error::NoService {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        elsewhere: elsewhere(&input.snapshot, name),
    })
}

fn elsewhere(snapshot: &Snapshot, name: &str) -> Vec<String> {
    let same_name = snapshot.services.iter().filter(|s| &*s.service.key.name == name);
    same_name.take(5).map(|s| s.service.key.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_named_as_with_kubectl() {
        for given in ["web", "svc/web", "service/web", "services/web", "Service/web"] {
            assert_eq!(service_name(given).unwrap(), "web", "{given}");
        }
        for given in ["shop/web", "svc/shop/web", "services/shop/web"] {
            let named = ServiceName { namespace: Some("shop"), name: "web" };
            assert_eq!(service_ref(given).unwrap(), named, "{given}");
        }
        for given in ["pod/web", "Deploy/web", "svc/", "/web", "", "a/b/c", "svc/a/b/c"] {
            assert!(service_ref(given).is_err(), "{given}");
        }
    }
}
