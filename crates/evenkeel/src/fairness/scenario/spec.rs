//! The format of scenario files.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use evenkeel_fairness::{
    Settings, Width,
    matching::RequestSpec,
    simulate::{Arrivals, Burst, Draw, Flow},
};
use serde::Deserialize;
use serde_json::Value;

use super::super::{
    args::Defaults,
    units::{Rate, Span},
};

/// The default maximum waiting time, as in Kubernetes.
const WAIT_LIMIT: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ScenarioSpec {
    /// The title of the picture.
    pub(super) name: Option<String>,
    pub(super) server: ServerSpec,
    pub(super) duration: Span,
    #[serde(default)]
    pub(super) warmup: Span,
    #[serde(default)]
    pub(super) seed: u64,
    pub(super) flows: Vec<FlowSpec>,
    #[serde(default)]
    pub(super) configurations: Vec<ConfigurationSpec>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ServerSpec {
    pub(super) concurrency_limit: u32,
}

/// Includes the attributes of requests.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FlowSpec {
    pub(super) name: String,
    #[serde(default = "one")]
    pub(super) clients: u32,
    pub(super) arrivals: ArrivalsSpec,
    pub(super) service: DrawSpec,
    #[serde(default)]
    pub(super) seats: SeatsSpec,
    pub(super) wait_limit: Option<Span>,
    #[serde(default)]
    pub(super) from: Span,
    pub(super) until: Option<Span>,
    pub(super) burst: Option<BurstSpec>,

    #[serde(default)]
    pub(super) user: Option<String>,
    pub(super) groups: Option<Vec<String>>,
    pub(super) verb: Option<String>,
    #[serde(default)]
    pub(super) api_group: String,
    #[serde(default)]
    pub(super) resource: String,
    #[serde(default)]
    pub(super) subresource: String,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) object: String,
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum ArrivalsSpec {
    Poisson {
        rate: Rate,
    },
    Constant {
        rate: Rate,
    },
    Closed {
        outstanding: u32,
        #[serde(default)]
        think: DrawSpec,
    },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(from = "DrawChoice")]
pub(super) struct DrawSpec(pub(super) Draw);

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a duration with a unit, such as 10ms, or one of exponential, \
    uniform: {min, max}, logNormal: {median, sigma}, pareto: {min, shape}"
)]
enum DrawChoice {
    Constant(Span),
    Drawn(Drawn),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Drawn {
    Constant(Span),
    Exponential(Span),
    Uniform { min: Span, max: Span },
    LogNormal { median: Span, sigma: f64 },
    Pareto { min: Span, shape: f64 },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "a number of seats, or {initial, final, additionalLatency}")]
pub(super) enum SeatsSpec {
    Number(u32),
    Width(WidthSpec),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WidthSpec {
    pub(super) initial: u32,
    #[serde(default, rename = "final")]
    pub(super) last: u32,
    #[serde(default)]
    pub(super) additional_latency: Span,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BurstSpec {
    pub(super) on: Span,
    pub(super) off: Span,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ConfigurationSpec {
    pub(super) name: String,
    #[serde(default)]
    pub(super) profile: ProfileSpec,
    pub(super) concurrency_limit: Option<u32>,
    #[serde(default)]
    pub(super) changes: Vec<ChangeSpec>,
    #[serde(rename = "default")]
    pub(super) defaults: Option<Defaults>,
    #[serde(default)]
    pub(super) files: Vec<PathBuf>,
    #[serde(default)]
    pub(super) objects: Vec<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ChangeSpec {
    pub(super) at: Span,
    pub(super) concurrency_limit: Option<u32>,
    #[serde(rename = "default")]
    pub(super) defaults: Option<Defaults>,
    #[serde(default)]
    pub(super) files: Vec<PathBuf>,
    #[serde(default)]
    pub(super) objects: Vec<Value>,
}

/// Where objects come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'f> {
    pub(super) defaults: Option<Defaults>,
    pub(super) files: &'f [PathBuf],
    pub(super) objects: &'f [Value],
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProfileSpec {
    #[default]
    Default,
    Kubernetes,
    Proposal,
}

fn one() -> u32 {
    1
}

impl ScenarioSpec {
    /// Kubernetes' default objects if none is given.
    pub(super) fn configurations(&self) -> Vec<ConfigurationSpec> {
        if !self.configurations.is_empty() {
            return self.configurations.clone();
        }
        vec![ConfigurationSpec {
            name: "kubernetes".to_owned(),
            defaults: Some(Defaults::Kubernetes),
            ..ConfigurationSpec::default()
        }]
    }
}

impl FlowSpec {
    pub(super) fn flow(&self) -> Flow {
        Flow {
            name: self.name.clone(),
            clients: self.clients,
            attributes: self.request().attributes(),
            arrivals: match self.arrivals {
                ArrivalsSpec::Poisson { rate } => Arrivals::Poisson { per_second: rate.0 },
                ArrivalsSpec::Constant { rate } => Arrivals::Constant { per_second: rate.0 },
                ArrivalsSpec::Closed { outstanding, think } => {
                    Arrivals::Closed { outstanding, think: think.0 }
                }
            },
            service: self.service.0,
            width: self.seats.width(),
            wait_limit: self.wait_limit.map_or(WAIT_LIMIT, |limit| limit.0),
            from: self.from.0,
            until: self.until.map(|until| until.0),
            burst: self.burst.map(|BurstSpec { on, off }| Burst { on: on.0, off: off.0 }),
        }
    }

    /// Each client is a user of its own, unless the scenario says otherwise.
    fn request(&self) -> RequestSpec {
        RequestSpec {
            user: self.user.clone().unwrap_or_else(|| format!("{}-{{n}}", self.name)),
            groups: self.groups.clone(),
            verb: self.verb.clone(),
            api_group: self.api_group.clone(),
            resource: self.resource.clone(),
            subresource: self.subresource.clone(),
            namespace: self.namespace.clone(),
            name: self.object.clone(),
            path: self.path.clone(),
            headers: self.headers.clone(),
        }
    }
}

impl Default for DrawSpec {
    fn default() -> Self {
        DrawSpec(Draw::Constant(Duration::ZERO))
    }
}

impl From<DrawChoice> for DrawSpec {
    fn from(choice: DrawChoice) -> Self {
        DrawSpec(match choice {
            DrawChoice::Constant(span) | DrawChoice::Drawn(Drawn::Constant(span)) => {
                Draw::Constant(span.0)
            }
            DrawChoice::Drawn(Drawn::Exponential(mean)) => Draw::Exponential { mean: mean.0 },
            DrawChoice::Drawn(Drawn::Uniform { min, max }) => {
                Draw::Uniform { min: min.0, max: max.0 }
            }
            DrawChoice::Drawn(Drawn::LogNormal { median, sigma }) => {
                Draw::LogNormal { median: median.0, sigma }
            }
            DrawChoice::Drawn(Drawn::Pareto { min, shape }) => Draw::Pareto { min: min.0, shape },
        })
    }
}

impl Default for SeatsSpec {
    fn default() -> Self {
        SeatsSpec::Number(1)
    }
}

impl SeatsSpec {
    pub(super) fn width(&self) -> Width {
        match *self {
            SeatsSpec::Number(seats) => Width::seats(seats),
            SeatsSpec::Width(WidthSpec { initial, last, additional_latency }) => Width {
                initial_seats: initial,
                final_seats: last,
                additional_latency: additional_latency.0,
            },
        }
    }
}

impl ProfileSpec {
    pub(super) fn settings(self) -> (&'static str, Settings) {
        match self {
            ProfileSpec::Default => ("default", Settings::default()),
            ProfileSpec::Kubernetes => ("kubernetes", Settings::kubernetes()),
            ProfileSpec::Proposal => ("proposal", Settings::proposal()),
        }
    }
}

impl ConfigurationSpec {
    pub(super) fn source(&self) -> Source<'_> {
        Source { defaults: self.defaults, files: &self.files, objects: &self.objects }
    }
}

impl ChangeSpec {
    pub(super) fn source(&self) -> Source<'_> {
        Source { defaults: self.defaults, files: &self.files, objects: &self.objects }
    }
}
