//! `RouteConfiguration`.

use std::{sync::Arc, time::Duration};

use envoy_types::pb::envoy::{
    config::{
        core::v3::{DataSource, data_source},
        route::v3::{
            DirectResponseAction, HeaderMatcher, QueryParameterMatcher, Route as RouteMessage,
            RouteAction as Forward, RouteConfiguration, RouteMatch as MatchMessage, VirtualHost,
            WeightedCluster,
            header_matcher::HeaderMatchSpecifier,
            query_parameter_matcher::QueryParameterMatchSpecifier,
            route::Action,
            route_action::{
                ClusterSpecifier, HashPolicy as HashMessage,
                hash_policy::{
                    ConnectionProperties, Cookie, FilterState, Header, PolicySpecifier,
                    QueryParameter,
                },
            },
            route_match::PathSpecifier,
            weighted_cluster::ClusterWeight,
        },
    },
    r#type::matcher::v3::{RegexMatcher, StringMatcher, string_matcher::MatchPattern},
};
use evenkeel_model::mesh::{
    HashKey, HashPolicy, HeaderMatch, PathMatch, QueryMatch, Route, RouteAction, RouteMatch,
    RouteTable, Split, ValueMatch,
};

use crate::{
    encode::{
        resource,
        values::{duration, number},
    },
    resource::{Resource, ResourceType},
};

/// Envoy refuses longer bodies of direct responses.
const MAX_BODY: usize = 4096;

/// The routes of a listener.
pub fn route_table(table: &RouteTable) -> Resource {
    let host = VirtualHost {
        name: table.name.to_string(),
        domains: vec!["*".to_owned()],
        routes: table.routes.iter().map(route).collect(),
        ..VirtualHost::default()
    };
    let message = RouteConfiguration {
        name: table.name.to_string(),
        virtual_hosts: vec![host],
        ..RouteConfiguration::default()
    };
    resource(ResourceType::Route, &table.name, &message)
}

/// Clusters that get anything. Their weights add up to 32 bits, as Envoy demands.
pub(super) fn weights(split: &Split) -> Vec<(&Arc<str>, u32)> {
    let used = split.clusters.iter().filter(|(_, weight)| *weight > 0);
    let total: u64 = used.clone().map(|(_, weight)| u64::from(*weight)).sum();
    let bound = u64::from(u32::MAX) - split.clusters.len().min(1 << 16) as u64;
    let divisor = u32::try_from(total.div_ceil(bound)).unwrap_or(u32::MAX).max(1);
    used.map(|(name, weight)| (name, (weight / divisor).max(1))).collect()
}

fn route(route: &Route) -> RouteMessage {
    RouteMessage {
        r#match: Some(matches(&route.matches)),
        action: Some(match &route.action {
            RouteAction::Forward { split, hash_policies, timeout } => {
                forward(split, hash_policies, *timeout)
            }
            RouteAction::Unavailable { why } => unavailable(why),
        }),
        ..RouteMessage::default()
    }
}

fn forward(split: &Split, hash_policies: &[HashPolicy], timeout: Option<Duration>) -> Action {
    let weights = weights(split);
    let cluster_specifier = match weights.as_slice() {
        [] => return unavailable("no destination"),
        [(cluster, _)] => ClusterSpecifier::Cluster(cluster.to_string()),
        many => ClusterSpecifier::WeightedClusters(WeightedCluster {
            clusters: many
                .iter()
                .map(|(name, weight)| ClusterWeight {
                    name: name.to_string(),
                    weight: Some(number(*weight)),
                    ..ClusterWeight::default()
                })
                .collect(),
            ..WeightedCluster::default()
        }),
    };
    Action::Route(Forward {
        cluster_specifier: Some(cluster_specifier),
        hash_policy: hash_policies.iter().map(hash_policy).collect(),
        timeout: timeout.map(duration),
        ..Forward::default()
    })
}

fn unavailable(why: &str) -> Action {
    let text = why[..why.floor_char_boundary(MAX_BODY)].to_owned();
    let body = DataSource {
        specifier: Some(data_source::Specifier::InlineString(text)),
        ..DataSource::default()
    };
    Action::DirectResponse(DirectResponseAction {
        status: 503,
        body: (!why.is_empty()).then_some(body),
        ..DirectResponseAction::default()
    })
}

fn hash_policy(policy: &HashPolicy) -> HashMessage {
    let key = match &policy.key {
        HashKey::Header(name) => {
            PolicySpecifier::Header(Header { header_name: name.to_string(), ..Header::default() })
        }
        HashKey::Cookie { name, ttl, path } => PolicySpecifier::Cookie(Cookie {
            name: name.to_string(),
            ttl: ttl.map(duration),
            path: path.as_deref().unwrap_or_default().to_owned(),
            ..Cookie::default()
        }),
        HashKey::SourceIp => {
            PolicySpecifier::ConnectionProperties(ConnectionProperties { source_ip: true })
        }
        HashKey::QueryParameter(name) => {
            PolicySpecifier::QueryParameter(QueryParameter { name: name.to_string() })
        }
        HashKey::FilterState(key) => {
            PolicySpecifier::FilterState(FilterState { key: key.to_string() })
        }
    };
    HashMessage { terminal: policy.terminal, policy_specifier: Some(key) }
}

fn matches(matches: &RouteMatch) -> MatchMessage {
    let method = matches.method.as_ref().map(|method| HeaderMatcher {
        name: ":method".to_owned(),
        header_match_specifier: Some(HeaderMatchSpecifier::StringMatch(exact(method))),
        ..HeaderMatcher::default()
    });
    MatchMessage {
        path_specifier: Some(path(&matches.path)),
        headers: method.into_iter().chain(matches.headers.iter().map(header)).collect(),
        query_parameters: matches.query.iter().map(query).collect(),
        ..MatchMessage::default()
    }
}

fn path(path: &PathMatch) -> PathSpecifier {
    match path {
        PathMatch::Any => PathSpecifier::Prefix("/".to_owned()),
        PathMatch::Exact(path) => PathSpecifier::Path(path.to_string()),
        PathMatch::Regex(regex) => PathSpecifier::SafeRegex(safe_regex(regex)),
        PathMatch::Prefix(prefix) => {
            let elements = prefix.trim_end_matches('/');
            // Envoy refuses this form for the root, and for text that is no path.
            if elements.len() < 2 || elements.contains(['?', '#']) {
                PathSpecifier::Prefix(if elements.is_empty() { "/" } else { prefix }.to_owned())
            } else {
                PathSpecifier::PathSeparatedPrefix(elements.to_owned())
            }
        }
    }
}

fn header(header: &HeaderMatch) -> HeaderMatcher {
    let specifier = match &header.value {
        ValueMatch::Present => HeaderMatchSpecifier::PresentMatch(true),
        ValueMatch::Absent => HeaderMatchSpecifier::PresentMatch(false),
        ValueMatch::Prefix(prefix) if prefix.is_empty() => HeaderMatchSpecifier::PresentMatch(true),
        value => HeaderMatchSpecifier::StringMatch(text(value)),
    };
    HeaderMatcher {
        name: header.name.to_string(),
        header_match_specifier: Some(specifier),
        ..HeaderMatcher::default()
    }
}

fn query(query: &QueryMatch) -> QueryParameterMatcher {
    use QueryParameterMatchSpecifier::{PresentMatch, StringMatch};
    let specifier = match &query.value {
        ValueMatch::Present => PresentMatch(true),
        ValueMatch::Absent => PresentMatch(false),
        ValueMatch::Prefix(prefix) if prefix.is_empty() => PresentMatch(true),
        value => StringMatch(text(value)),
    };
    QueryParameterMatcher {
        name: query.name.to_string(),
        query_parameter_match_specifier: Some(specifier),
    }
}

/// Presence and absence are not texts; they are matched before.
fn text(value: &ValueMatch) -> StringMatcher {
    let pattern = match value {
        ValueMatch::Exact(text) => return exact(text),
        ValueMatch::Prefix(text) => MatchPattern::Prefix(text.to_string()),
        ValueMatch::Regex(regex) => MatchPattern::SafeRegex(safe_regex(regex)),
        ValueMatch::Present | ValueMatch::Absent => MatchPattern::Prefix(String::new()),
    };
    StringMatcher { match_pattern: Some(pattern), ..StringMatcher::default() }
}

fn exact(text: &str) -> StringMatcher {
    StringMatcher {
        match_pattern: Some(MatchPattern::Exact(text.to_owned())),
        ..StringMatcher::default()
    }
}

fn safe_regex(regex: &str) -> RegexMatcher {
    RegexMatcher { regex: regex.to_owned(), engine_type: None }
}
