//! The query of a request for which a rule is looked up.

use evenkeel_fairness::matching::RequestSpec;

use super::query::{decoded, pairs};

const MOST_GROUPS: usize = 32;

/// The request that is asked about. Errors are sentences.
pub(super) fn parse(query: &str) -> Result<RequestSpec, String> {
    let mut spec = RequestSpec::default();
    for (key, value) in pairs(query) {
        let value = decoded(value)?.trim().to_owned();
        match key {
            _ if value.is_empty() => {}
            "user" => spec.user = value,
            "groups" => spec.groups = groups(&value)?,
            "verb" => spec.verb = Some(value),
            "apiGroup" => spec.api_group = value,
            "resource" => spec.resource = value,
            "namespace" => spec.namespace = value,
            "name" => spec.name = value,
            "path" => spec.path = Some(value),
            _ => return Err("unknown parameter".to_owned()),
        }
    }
    Ok(spec)
}

/// With commas between them. `None`: the default group.
fn groups(value: &str) -> Result<Option<Vec<String>>, String> {
    let groups = value.split(',').map(str::trim).filter(|group| !group.is_empty());
    let groups: Vec<String> = groups.map(str::to_owned).collect();
    if groups.len() > MOST_GROUPS {
        return Err(format!("more than {MOST_GROUPS} groups"));
    }
    Ok((!groups.is_empty()).then_some(groups))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_a_request() {
        let query =
            "user=al%C3%ACce&groups=a,+b,,&verb=list&resource=pods%2Flog&namespace=shop&path=";
        let spec = parse(query).unwrap();
        assert_eq!((spec.user.as_str(), spec.resource.as_str()), ("alìce", "pods/log"));
        assert_eq!(spec.groups.unwrap(), ["a", "b"]);
        assert_eq!((spec.verb.as_deref(), spec.path), (Some("list"), None));
        assert_eq!(parse("groups=,").unwrap().groups, None);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let many = format!("groups={}", "g,".repeat(MOST_GROUPS + 1));
        let long = format!("user={}", "x".repeat(600));
        for query in ["user=%ff", "header=x", many.as_str(), long.as_str()] {
            assert!(parse(query).is_err(), "{query}");
        }
    }
}
