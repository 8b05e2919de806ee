//! Applies a plan as an API server would.

use evenkeel_model::Slice;
use evenkeel_topology::Plan;

/// The slices after all writes of `plan`, sorted by name. Created ones are named like `PREFIX-000`,
/// with the first free numbers.
///
/// # Panics
/// If the plan changes a missing slice, or writes a slice twice.
pub fn apply(plan: &Plan, existing: &[Slice], prefix: &str) -> Vec<Slice> {
    let mut slices = existing.to_vec();
    let position = |slices: &[Slice], name: &str| {
        let found = slices.iter().position(|s| &*s.name == name);
        found.unwrap_or_else(|| panic!("the plan writes {name}, which isn't there"))
    };
    for name in &plan.delete {
        let at = position(&slices, name);
        slices.remove(at);
    }
    for (number, update) in plan.update.iter().enumerate() {
        let twice = plan.update[..number].iter().any(|u| u.name == update.name);
        assert!(!twice, "{} is updated twice", update.name);
        let at = position(&slices, &update.name);
        slices[at] = update.clone();
    }
    for name in &plan.unchanged {
        position(&slices, name);
    }
    for created in &plan.create {
        let mut slice = created.clone();
        slice.name = free_name(&slices, prefix).into();
        slices.push(slice);
    }
    slices.sort_by(|a, b| a.name.cmp(&b.name));
    slices
}

fn free_name(slices: &[Slice], prefix: &str) -> String {
    let taken = |name: &String| slices.iter().any(|s| *s.name == **name);
    let mut names = (0..).map(|number| format!("{prefix}-{number:03}"));
    names.find(|name| !taken(name)).expect("numbers never run out")
}
