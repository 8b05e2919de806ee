//! Scenario files as they are written.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use evenkeel_fairness::{
    Settings, Width,
    simulate::{Arrivals, Burst, Draw, Flow},
};
use serde::Deserialize;
use serde_json::Value;

use super::super::{
    args::Defaults,
    attributes::RequestForm,
    units::{Rate, Span},
};

/// For how long requests wait at most where a scenario does not say, as in Kubernetes.
const WAIT_LIMIT: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ScenarioForm {
    pub(super) server: ServerForm,
    pub(super) duration: Span,
    #[serde(default)]
    pub(super) warmup: Span,
    #[serde(default)]
    pub(super) seed: u64,
    pub(super) flows: Vec<FlowForm>,
    #[serde(default)]
    pub(super) configurations: Vec<ConfigurationForm>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ServerForm {
    pub(super) concurrency_limit: u32,
}

/// The attributes of requests are beside these.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FlowForm {
    pub(super) name: String,
    #[serde(default = "one")]
    pub(super) clients: u32,
    pub(super) arrivals: ArrivalsForm,
    pub(super) service: DrawForm,
    #[serde(default)]
    pub(super) seats: SeatsForm,
    pub(super) wait_limit: Option<Span>,
    #[serde(default)]
    pub(super) from: Span,
    pub(super) until: Option<Span>,
    pub(super) burst: Option<BurstForm>,

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
pub(super) enum ArrivalsForm {
    Poisson {
        rate: Rate,
    },
    Constant {
        rate: Rate,
    },
    Closed {
        outstanding: u32,
        #[serde(default)]
        think: DrawForm,
    },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(from = "DrawChoice")]
pub(super) struct DrawForm(pub(super) Draw);

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a duration with a unit, as in 10ms, or one of exponential, \
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
pub(super) enum SeatsForm {
    Number(u32),
    Width(WidthForm),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WidthForm {
    pub(super) initial: u32,
    #[serde(default, rename = "final")]
    pub(super) last: u32,
    #[serde(default)]
    pub(super) additional_latency: Span,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BurstForm {
    pub(super) on: Span,
    pub(super) off: Span,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ConfigurationForm {
    pub(super) name: String,
    #[serde(default)]
    pub(super) profile: ProfileForm,
    pub(super) concurrency_limit: Option<u32>,
    #[serde(default)]
    pub(super) changes: Vec<ChangeForm>,
    #[serde(rename = "default")]
    pub(super) defaults: Option<Defaults>,
    #[serde(default)]
    pub(super) files: Vec<PathBuf>,
    #[serde(default)]
    pub(super) objects: Vec<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ChangeForm {
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
pub(super) enum ProfileForm {
    #[default]
    Default,
    Kubernetes,
    Proposal,
}

fn one() -> u32 {
    1
}

impl ScenarioForm {
    /// Those of Kubernetes where none is given.
    pub(super) fn configurations(&self) -> Vec<ConfigurationForm> {
        if !self.configurations.is_empty() {
            return self.configurations.clone();
        }
        vec![ConfigurationForm {
            name: "kubernetes".to_owned(),
            defaults: Some(Defaults::Kubernetes),
            ..ConfigurationForm::default()
        }]
    }
}

impl FlowForm {
    pub(super) fn flow(&self) -> Flow {
        Flow {
            name: self.name.clone(),
            clients: self.clients,
            attributes: self.request().attributes(),
            arrivals: match self.arrivals {
                ArrivalsForm::Poisson { rate } => Arrivals::Poisson { per_second: rate.0 },
                ArrivalsForm::Constant { rate } => Arrivals::Constant { per_second: rate.0 },
                ArrivalsForm::Closed { outstanding, think } => {
                    Arrivals::Closed { outstanding, think: think.0 }
                }
            },
            service: self.service.0,
            width: self.seats.width(),
            wait_limit: self.wait_limit.map_or(WAIT_LIMIT, |limit| limit.0),
            from: self.from.0,
            until: self.until.map(|until| until.0),
            burst: self.burst.map(|BurstForm { on, off }| Burst { on: on.0, off: off.0 }),
        }
    }

    /// Users are told apart unless the scenario says otherwise.
    fn request(&self) -> RequestForm {
        RequestForm {
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

impl Default for DrawForm {
    fn default() -> Self {
        DrawForm(Draw::Constant(Duration::ZERO))
    }
}

impl From<DrawChoice> for DrawForm {
    fn from(choice: DrawChoice) -> Self {
        DrawForm(match choice {
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

impl Default for SeatsForm {
    fn default() -> Self {
        SeatsForm::Number(1)
    }
}

impl SeatsForm {
    pub(super) fn width(&self) -> Width {
        match *self {
            SeatsForm::Number(seats) => Width::seats(seats),
            SeatsForm::Width(WidthForm { initial, last, additional_latency }) => Width {
                initial_seats: initial,
                final_seats: last,
                additional_latency: additional_latency.0,
            },
        }
    }
}

impl ProfileForm {
    pub(super) fn settings(self) -> (&'static str, Settings) {
        match self {
            ProfileForm::Default => ("default", Settings::default()),
            ProfileForm::Kubernetes => ("kubernetes", Settings::kubernetes()),
            ProfileForm::Proposal => ("proposal", Settings::proposal()),
        }
    }
}

impl ConfigurationForm {
    pub(super) fn source(&self) -> Source<'_> {
        Source { defaults: self.defaults, files: &self.files, objects: &self.objects }
    }
}

impl ChangeForm {
    pub(super) fn source(&self) -> Source<'_> {
        Source { defaults: self.defaults, files: &self.files, objects: &self.objects }
    }
}
