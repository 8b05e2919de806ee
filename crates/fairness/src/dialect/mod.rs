//! The two languages configurations are written in: today's Kubernetes objects, and those of the
//! proposal of 2019. Both compile into [`Config`].

pub mod kubernetes;
pub mod lint;
mod load;
mod problem;
pub mod proposal;

pub use self::{
    lint::{Finding, Severity},
    load::load,
    problem::{Fault, Place, Placed, Problem},
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

/// A configuration, and what should be known about it.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub config: Config,
    pub findings: Vec<Finding>,
}

impl Objects {
    /// The configuration, if nothing is wrong with any object. No objects at all are a
    /// configuration of Kubernetes' implied ones.
    pub fn compile(self) -> Result<Compiled, Vec<Problem>> {
        let (compiled, problems) = self.compile_sound();
        match compiled {
            Some(compiled) if problems.is_empty() => Ok(compiled),
            _ => Err(problems),
        }
    }

    /// The configuration of those objects with which nothing is wrong, and what is wrong with the
    /// others. None of mixed dialects.
    pub fn compile_sound(self) -> (Option<Compiled>, Vec<Problem>) {
        let Objects { mut kubernetes, proposal, mut problems } = self;
        if let Some(mixed) = mixed(&kubernetes, &proposal) {
            problems.insert(0, mixed);
            return (None, problems);
        }
        let compiled = if proposal.is_empty() {
            kubernetes.sift(&mut problems);
            let levels = kubernetes.levels.iter().map(|placed| &placed.object);
            kubernetes::compile(levels, kubernetes.schemas.iter().map(|placed| &placed.object))
        } else {
            proposal::compile(proposal, &mut problems)
        };
        (Some(compiled), problems)
    }
}

fn mixed(kubernetes: &kubernetes::Objects, proposal: &proposal::Objects) -> Option<Problem> {
    let level = kubernetes.levels.first().map(|placed| &placed.place);
    let first = level.or(kubernetes.schemas.first().map(|placed| &placed.place))?;
    let level = proposal.levels.first().map(|placed| &placed.place);
    let second = level.or(proposal.schemas.first().map(|placed| &placed.place))?;
    let (kubernetes, proposal) = (first.clone().into(), second.clone().into());
    let fault = Fault::MixedDialects { kubernetes, proposal };
    Some(Problem::at(second, "", fault))
}
