//! PodTemplate: a pod template stored for controllers that refer to it.

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, fixed,
    pod::{self, validate},
    read::{at, entry},
    workload::{self, columns},
};
use crate::{
    invalid::{Errors, Path},
    table,
};

pub(crate) static POD_TEMPLATE: KindRef = Held::Static(&Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("PodTemplate"),
    plural: fixed("podtemplates"),
    singular: fixed("podtemplate"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.core.v1.PodTemplate"),
    verbs: EVERY_VERB,
    subresources: &[],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Object,
    alias: None,
    columns: &[
        table::NAME,
        column("Containers", "Names of each container in the template.", |object, _| {
            json!(columns::joined(&object["template"], "name"))
        }),
        column("Images", "Images referenced by each container in the template.", |object, _| {
            json!(columns::joined(&object["template"], "image"))
        }),
        column("Pod Labels", "The labels for the pod template.", |object, _| {
            json!(columns::labels_or_none(at(object, &["template", "metadata", "labels"])))
        }),
    ],
    strategy: Held::Static(&PodTemplateStrategy),
    custom: None,
});

const fn column(
    name: &'static str,
    description: &'static str,
    cell: fn(&Value, jiff::Timestamp) -> Value,
) -> Column {
    Column { name, type_: "string", format: "", priority: 0, description, cell }
}

#[derive(Debug)]
struct PodTemplateStrategy;

impl Strategy for PodTemplateStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        pod::defaults::spec(entry(object, &["template", "spec"]));
    }

    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        *entry(object, &["metadata", "generation"]) = json!(1);
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate::template(&object["template"], &Path::root("template"))
    }

    fn prepare_update(&self, _: Part, new: &mut Value, old: &Value, _: &Admission) {
        if workload::differs(new, old, &["template"]) {
            workload::raise_generation(new, old);
        }
    }

    fn validate_update(&self, _: Part, new: &Value, _: &Value, at: &Admission) -> Errors {
        self.validate_create(new, at)
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        match old {
            Some(old) if !workload::generation_changed(new, old) => Vec::new(),
            _ => pod::warnings::of(&new["template"], &Path::root("template")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    fn template(image: &str) -> Value {
        json!({
            "metadata": {"name": "t", "namespace": "default"},
            "template": {
                "metadata": {"labels": {"app": "web", "tier": "front"}},
                "spec": {"containers": [{"name": "a", "image": image}, {"name": "b", "image": "y"}]},
            },
        })
    }

    #[test]
    fn a_template_is_filled_in_and_checked_like_that_of_a_workload() {
        let at = facts::admission();
        let mut object = template("x");
        PodTemplateStrategy.default(&mut object, &at);
        assert_eq!(object["template"]["spec"]["restartPolicy"], "Always");
        assert_eq!(facts::texts(&PodTemplateStrategy.validate_create(&object, &at)), [""; 0]);
        let mut empty = json!({"metadata": {"name": "t"}});
        PodTemplateStrategy.default(&mut empty, &at);
        let errors = facts::texts(&PodTemplateStrategy.validate_create(&empty, &at));
        assert_eq!(errors, ["template.spec.containers: Required value"]);
    }

    #[test]
    fn a_change_of_the_template_raises_the_generation() {
        let at = facts::admission();
        let mut old = template("x");
        PodTemplateStrategy.prepare_create(&mut old, &at);
        for (image, labels, generation) in
            [("x", json!({}), 1), ("x", json!({"a": "b"}), 1), ("z", json!({}), 2)]
        {
            let mut new = template(image);
            new["metadata"]["labels"] = labels;
            new["metadata"]["generation"] = json!(1);
            PodTemplateStrategy.prepare_update(Part::Main, &mut new, &old, &at);
            assert_eq!(new["metadata"]["generation"], generation);
        }
    }

    #[test]
    fn columns_are_those_of_kubectl() {
        let now = facts::admission().now;
        let cells = |object: &Value| -> Vec<Value> {
            POD_TEMPLATE.columns.iter().map(|column| (column.cell)(object, now)).collect()
        };
        assert_eq!(json!(cells(&template("x"))), json!(["t", "a,b", "x,y", "app=web,tier=front"]));
        let empty = json!({"metadata": {"name": "t"}});
        assert_eq!(json!(cells(&empty)), json!(["t", "", "", "<none>"]));
    }
}
