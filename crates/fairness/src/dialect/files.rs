//! A configuration in files, as a server reads it: of the proposal's dialect, and all or nothing.
//!
//! A server that runs should not drop the objects of a file while somebody corrects it. So one
//! problem is enough to refuse all files, and the configuration before them stays in force.

use super::{Compiled, Fault, Located, Objects, Problem, kubernetes, proposal};
use crate::limits::nominal;

/// The configuration of the proposal's dialect in these texts, each with the name people know it
/// by; no texts at all are a configuration of backstops. Or everything that is wrong with them.
pub fn compile_files<'t>(
    files: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<Compiled, Vec<Problem>> {
    let mut objects = Objects::default();
    for (name, text) in files {
        objects.load(name, text);
    }
    let Objects { kubernetes, proposal, mut problems } = objects;
    problems.extend(of_other_dialect(&kubernetes));
    let first = proposal.levels.first().map(|level| level.location.clone()).unwrap_or_default();
    let compiled = proposal::compile(proposal, &mut problems);
    if problems.is_empty()
        && let Err(error) = nominal::limits(compiled.config.levels.iter(), 1)
    {
        problems.push(Problem::at(&first, "spec.assuredConcurrencyShares", error));
    }
    if problems.is_empty() { Ok(compiled) } else { Err(problems) }
}

fn of_other_dialect(objects: &kubernetes::Objects) -> Vec<Problem> {
    let levels = objects.levels.iter().map(|Located { location, .. }| location);
    let schemas = objects.schemas.iter().map(|Located { location, .. }| location);
    let problem = |location| Problem::at(location, "apiVersion", Fault::OtherDialect);
    levels.chain(schemas).map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "apiVersion: evenkeel.dev/v1alpha1\nkind: RequestPriority\n\
                       metadata: {name: top}\nspec: {exempt: true}\n";
    const ALL: &str = "apiVersion: evenkeel.dev/v1alpha1\nkind: FlowSchema\nmetadata: {name: all}\n\
                       spec: {requestPriority: {name: top}, match: [{and: []}]}\n";

    #[track_caller]
    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let problems = compile_files(files.iter().copied()).expect_err("something is wrong");
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn objects_of_several_files_are_one_configuration() {
        let compiled = compile_files([("a.yaml", ALL), ("b.yaml", TOP)]).unwrap();
        assert_eq!(compiled.config.schemas.len(), 1);
    }

    #[test]
    fn no_files_are_the_backstops_of_the_proposal_and_not_kubernetes() {
        for files in [&[][..], &[("empty.yaml", "")], &[("empty.yaml", "# nothing\n---\n")]] {
            let compiled = compile_files(files.iter().copied()).unwrap();
            let names: Vec<_> = compiled.config.levels.iter().map(|level| &*level.name).collect();
            assert_eq!(names, ["system-top", "workload-low"]);
        }
    }

    #[test]
    fn one_problem_refuses_all_files_and_all_problems_are_told() {
        let told = problems(&[("a.yaml", ALL), ("b.yaml", "kind: ["), ("c.yaml", "kind: Pod")]);
        assert_eq!(told.len(), 2, "{told:#?}");
        assert!(told[0].starts_with("b.yaml, document 1: line 1"), "{told:#?}");
    }

    #[test]
    fn kubernetes_objects_are_refused_one_by_one() {
        let level = "apiVersion: flowcontrol.apiserver.k8s.io/v1\n\
                     kind: PriorityLevelConfiguration\nmetadata: {name: mine}\n\
                     spec: {type: Limited, limited: {limitResponse: {type: Reject}}}\n";
        let told = problems(&[("a.yaml", TOP), ("b.yaml", level)]);
        let expected = "b.yaml, document 1, PriorityLevelConfiguration mine: apiVersion: an object \
                        of Kubernetes' dialect";
        assert!(told.len() == 1 && told[0].starts_with(expected), "{told:#?}");
    }

    #[test]
    fn levels_without_any_shares_are_refused() {
        let none = "apiVersion: evenkeel.dev/v1alpha1\nkind: RequestPriority\n\
                    metadata: {name: none}\n\
                    spec: {assuredConcurrencyShares: 0, queues: 1, queueLengthLimit: 1}\n";
        let told = problems(&[("a.yaml", TOP), ("b.yaml", none)]);
        assert!(told[0].contains("give at least one level shares"), "{told:#?}");
    }
}
