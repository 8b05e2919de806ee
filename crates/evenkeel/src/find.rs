//! Names as users of kubectl give them, to objects.

use evenkeel_model::{ServiceKey, ServiceState, Snapshot};

use crate::{error::Error, input::Input};

/// `svc/web`, `service/web`, `services/web` or `web`.
pub(crate) fn service_name(given: &str) -> Result<&str, Error> {
    let name = match given.split_once('/') {
        None => given,
        Some((kind, name)) => match kind.to_ascii_lowercase().as_str() {
            "svc" | "service" | "services" | "service.v1" | "services.v1." => name,
            _ => return Err(Error::NotAService { given: given.to_owned() }),
        },
    };
    if name.is_empty() || name.contains('/') {
        return Err(Error::NotAService { given: given.to_owned() });
    }
    Ok(name)
}

/// The Service of that name in the namespace in force.
pub(crate) fn service<'a>(input: &'a Input, name: &str) -> Result<&'a ServiceState, Error> {
    let key = ServiceKey::new(&*input.namespace, name);
    input.snapshot.service(&key).ok_or_else(|| Error::NoService {
        namespace: input.namespace.clone(),
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
        for given in ["pod/web", "svc/", "", "a/b/c", "svc/a/b"] {
            assert!(service_name(given).is_err(), "{given}");
        }
    }
}
