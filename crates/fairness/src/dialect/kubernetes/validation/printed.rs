//! Specs as Kubernetes' errors show them: with the names and the order of its internal types.

use serde::Serialize;

use super::BadValue;
use crate::dialect::kubernetes::object;

pub(super) fn flow_schema(spec: &object::FlowSchemaSpec) -> BadValue {
    BadValue::json(&FlowSchemaSpec {
        priority_level_configuration: (&spec.priority_level_configuration).into(),
        matching_precedence: spec.matching_precedence,
        distinguisher_method: spec.distinguisher_method.as_ref().map(Into::into),
        rules: present(&spec.rules),
    })
}

pub(super) fn distinguisher(method: &object::DistinguisherMethod) -> BadValue {
    BadValue::json(&DistinguisherMethod::from(method))
}

pub(super) fn priority_level(spec: &object::PriorityLevelSpec) -> BadValue {
    BadValue::json(&PriorityLevelSpec {
        r#type: &spec.r#type,
        limited: spec.limited.as_ref().map(|limited| Limited {
            nominal_concurrency_shares: limited.nominal_concurrency_shares.unwrap_or_default(),
            limit_response: LimitResponse {
                r#type: &limited.limit_response.r#type,
                queuing: limited.limit_response.queuing.as_ref().map(|queuing| Queuing {
                    queues: queuing.queues,
                    hand_size: queuing.hand_size,
                    queue_length_limit: queuing.queue_length_limit,
                }),
            },
            lendable_percent: limited.lendable_percent,
            borrowing_limit_percent: limited.borrowing_limit_percent,
        }),
        exempt: spec.exempt.as_ref().map(|exempt| Exempt {
            nominal_concurrency_shares: exempt.nominal_concurrency_shares,
            lendable_percent: exempt.lendable_percent,
        }),
    })
}

type List<'a> = Option<&'a [String]>;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct FlowSchemaSpec<'a> {
    priority_level_configuration: Named<'a>,
    matching_precedence: i32,
    distinguisher_method: Option<DistinguisherMethod<'a>>,
    rules: Option<Vec<PolicyRules<'a>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Named<'a> {
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct DistinguisherMethod<'a> {
    r#type: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct PolicyRules<'a> {
    subjects: Option<Vec<Subject<'a>>>,
    resource_rules: Option<Vec<ResourceRule<'a>>>,
    non_resource_rules: Option<Vec<NonResourceRule<'a>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Subject<'a> {
    kind: &'a str,
    user: Option<Named<'a>>,
    group: Option<Named<'a>>,
    service_account: Option<ServiceAccount<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ServiceAccount<'a> {
    namespace: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ResourceRule<'a> {
    verbs: List<'a>,
    #[serde(rename = "APIGroups")]
    api_groups: List<'a>,
    resources: List<'a>,
    cluster_scope: bool,
    namespaces: List<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct NonResourceRule<'a> {
    verbs: List<'a>,
    #[serde(rename = "NonResourceURLs")]
    non_resource_urls: List<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct PriorityLevelSpec<'a> {
    r#type: &'a str,
    limited: Option<Limited<'a>>,
    exempt: Option<Exempt>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Limited<'a> {
    nominal_concurrency_shares: i32,
    limit_response: LimitResponse<'a>,
    lendable_percent: Option<i32>,
    borrowing_limit_percent: Option<i32>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct LimitResponse<'a> {
    r#type: &'a str,
    queuing: Option<Queuing>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Queuing {
    queues: i32,
    hand_size: i32,
    queue_length_limit: i32,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Exempt {
    nominal_concurrency_shares: Option<i32>,
    lendable_percent: Option<i32>,
}

impl<'a> From<&'a object::Reference> for Named<'a> {
    fn from(of: &'a object::Reference) -> Self {
        Named { name: &of.name }
    }
}

impl<'a> From<&'a object::DistinguisherMethod> for DistinguisherMethod<'a> {
    fn from(of: &'a object::DistinguisherMethod) -> Self {
        DistinguisherMethod { r#type: &of.r#type }
    }
}

impl<'a> From<&'a object::PolicyRules> for PolicyRules<'a> {
    fn from(of: &'a object::PolicyRules) -> Self {
        PolicyRules {
            subjects: of.subjects.as_ref().map(|list| list.iter().map(Into::into).collect()),
            resource_rules: present(&of.resource_rules),
            non_resource_rules: present(&of.non_resource_rules),
        }
    }
}

impl<'a> From<&'a object::Subject> for Subject<'a> {
    fn from(of: &'a object::Subject) -> Self {
        Subject {
            kind: &of.kind,
            user: of.user.as_ref().map(Into::into),
            group: of.group.as_ref().map(Into::into),
            service_account: of.service_account.as_ref().map(|account| ServiceAccount {
                namespace: &account.namespace,
                name: &account.name,
            }),
        }
    }
}

impl<'a> From<&'a object::ResourcePolicyRule> for ResourceRule<'a> {
    fn from(of: &'a object::ResourcePolicyRule) -> Self {
        ResourceRule {
            verbs: of.verbs.as_deref(),
            api_groups: of.api_groups.as_deref(),
            resources: of.resources.as_deref(),
            cluster_scope: of.cluster_scope,
            namespaces: of.namespaces.as_deref(),
        }
    }
}

impl<'a> From<&'a object::NonResourcePolicyRule> for NonResourceRule<'a> {
    fn from(of: &'a object::NonResourcePolicyRule) -> Self {
        NonResourceRule {
            verbs: of.verbs.as_deref(),
            non_resource_urls: of.non_resource_urls.as_deref(),
        }
    }
}

/// Go shows an absent list as `null`; an empty one is absent after decoding.
fn present<'a, T, P: From<&'a T>>(list: &'a [T]) -> Option<Vec<P>> {
    (!list.is_empty()).then(|| list.iter().map(Into::into).collect())
}
