//! The two languages configurations are written in: today's Kubernetes objects, and those of the
//! proposal of 2019. Both compile into [`Config`].

mod condition;
mod files;
pub mod kubernetes;
pub mod lint;
mod load;
mod problem;
pub mod proposal;
pub mod stored;

pub use self::{
    condition::{Condition, ConditionReason, ConditionType},
    files::compile_files,
    lint::{Finding, Severity},
    load::load,
    problem::{Fault, Located, Location, Problem},
};
use crate::config::Config;

/// What was read, of either dialect.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub kubernetes: kubernetes::Objects,
    pub proposal: proposal::Objects,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// A configuration, and what an operator should know about it.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub config: Config,
    pub findings: Vec<Finding>,
    /// Of the proposal's dialect; by kind, then in the order of the objects. Those that are true are
    /// among the findings.
    pub conditions: Vec<Condition>,
    dialect: lint::Dialect,
}

impl Compiled {
    /// Findings for a server with this number of seats.
    pub fn lint_seats(&self, server_limit: u32) -> Vec<Finding> {
        lint::lint_seats(&self.config, self.dialect, server_limit)
    }
}

impl Objects {
    /// The configuration, if nothing is wrong with any object. No objects at all are a
    /// configuration of Kubernetes' implied ones.
    pub fn compile(self) -> Result<Compiled, Vec<Problem>> {
        let (compiled, problems) = self.compile_valid();
        match compiled {
            Some(compiled) if problems.is_empty() => Ok(compiled),
            _ => Err(problems),
        }
    }

    /// The configuration of the valid objects, and what is wrong with the others. None of mixed
    /// dialects.
    pub fn compile_valid(self) -> (Option<Compiled>, Vec<Problem>) {
        let Objects { mut kubernetes, proposal, mut problems } = self;
        if let Some(mixed) = mixed(&kubernetes, &proposal) {
            problems.insert(0, mixed);
            return (None, problems);
        }
        let compiled = if proposal.is_empty() {
            kubernetes.sift(&mut problems);
            let levels = kubernetes.levels.iter().map(|located| &located.object);
            kubernetes::compile(levels, kubernetes.schemas.iter().map(|located| &located.object))
        } else {
            proposal::compile(proposal, &mut problems)
        };
        (Some(compiled), problems)
    }
}

fn mixed(kubernetes: &kubernetes::Objects, proposal: &proposal::Objects) -> Option<Problem> {
    let level = kubernetes.levels.first().map(|located| &located.location);
    let first = level.or(kubernetes.schemas.first().map(|located| &located.location))?;
    let level = proposal.levels.first().map(|located| &located.location);
    let second = level.or(proposal.schemas.first().map(|located| &located.location))?;
    let (kubernetes, proposal) = (first.clone().into(), second.clone().into());
    let fault = Fault::MixedDialects { kubernetes, proposal };
    Some(Problem::at(second, "", fault))
}
