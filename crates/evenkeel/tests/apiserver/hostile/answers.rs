//! Requests that are well formed but wrong, and Kubernetes' responses to them.
//!
//! All on one server: each row is a request and its expected response.

use serde_json::{Value, json};

use super::raw::{Answer, ask, send};
use crate::process::{Server, folder};

const JSON: &str = "application/json";
const TABLE: &str = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io";

struct Running {
    server: Server,
}

impl Running {
    fn start(test: &str) -> Running {
        Running { server: Server::start(&folder(test)) }
    }

    async fn make(&self, path: &str, object: &Value) -> Value {
        let answer = self.post(path, object).await;
        assert_eq!(answer.code, 201, "{path}: {:?}", answer.json());
        answer.json()
    }

    async fn post(&self, path: &str, object: &Value) -> Answer {
        send(&self.server, &format!("POST {path}"), JSON, object.to_string()).await
    }

    async fn merge(&self, path: &str, patch: &Value) -> Answer {
        let line = format!("PATCH {path}");
        send(&self.server, &line, "application/merge-patch+json", patch.to_string()).await
    }

    async fn get(&self, path: &str) -> Answer {
        ask(&self.server, &format!("GET {path} HTTP/1.1"), b"").await
    }

    async fn as_bob(&self, line: &str, body: &str) -> Answer {
        let length = body.len();
        let head = format!(
            "{line} HTTP/1.1\r\nImpersonate-User: bob\r\nContent-Type: {JSON}\r\nContent-Length: {length}"
        );
        ask(&self.server, &head, body.as_bytes()).await
    }

    fn stop(self) {
        let data = self.server.data.clone();
        self.server.stop();
        std::fs::remove_dir_all(data).unwrap();
    }
}

fn message(answer: &Answer) -> String {
    answer.json()["message"].as_str().unwrap_or_default().to_owned()
}

fn pod(name: &str, node: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}})
}

fn node(name: &str) -> Value {
    let labels =
        json!({"topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "r", "x": "y"});
    json!({"metadata": {"name": name, "labels": labels}})
}

// Kubernetes' spec "should return a 406 for a backend which does not implement metadata".
#[tokio::test]
async fn a_question_has_no_columns() {
    let running = Running::start("answers-tables");
    let group = "/apis/authorization.k8s.io/v1";
    let spec = json!({"nonResourceAttributes": {"path": "/", "verb": "get"}});
    let (own, named) = (
        json!({"spec": spec}),
        json!({"spec": {"user": "bob", "nonResourceAttributes": spec["nonResourceAttributes"]}}),
    );
    let resource = json!({"verb": "list", "resource": "configmaps", "namespace": "default"});
    let local = json!({"spec": {"user": "bob", "resourceAttributes": resource}});
    let who = "/apis/authentication.k8s.io/v1";
    running.make("/api/v1/namespaces/default/pods", &pod("p", "")).await;
    for (path, body) in [
        (format!("{group}/selfsubjectaccessreviews"), own),
        (format!("{group}/subjectaccessreviews"), named),
        (format!("{group}/namespaces/default/localsubjectaccessreviews"), local),
        (format!("{group}/selfsubjectrulesreviews"), json!({"spec": {"namespace": "default"}})),
        (format!("{who}/selfsubjectreviews"), json!({})),
        (format!("{who}/tokenreviews"), json!({"spec": {"token": "x"}})),
        (
            "/api/v1/namespaces/default/pods/p/binding".to_owned(),
            json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}),
        ),
        (
            "/api/v1/namespaces/default/pods/p/eviction".to_owned(),
            json!({"metadata": {"name": "p"}}),
        ),
    ] {
        let answer =
            send(&running.server, &format!("POST {path}?x=y"), JSON, body.to_string()).await;
        let line = format!(
            "POST {path} HTTP/1.1\r\n{TABLE}\r\nContent-Type: {JSON}\r\nContent-Length: {}",
            body.to_string().len()
        );
        let table = ask(&running.server, &line, body.to_string().as_bytes()).await;
        assert_eq!(table.reason(), (406, "NotAcceptable".to_owned()), "{path}: {table:?}");
        assert_eq!(
            message(&table),
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        );
        assert_eq!(answer.code, 201, "{path}: {:?}", answer.json());
    }
    running.stop();
}

// Kubernetes' specs of the timeout of a request.
#[tokio::test]
async fn a_timeout_must_be_a_duration() {
    let running = Running::start("answers-timeouts");
    for (path, code) in [
        ("/version?timeout=3m", 200),
        ("/version?timeout=0s", 200),
        ("/version?timeout=-1s", 200),
        ("/api/v1/pods?timeout=30s", 200),
        ("/api/v1/pods?timeout=", 200),
        ("/version?timeout=invalid", 400),
        ("/api/v1/pods?timeout=5", 400),
        ("/nowhere?timeout=5x", 400),
    ] {
        let answer = running.get(path).await;
        assert_eq!(answer.code, code, "{path}: {:?}", answer.json());
        if code == 400 {
            let words = "invalid timeout specified in the request URL - time: ";
            assert!(message(&answer).starts_with(words), "{path}: {answer:?}");
            assert_eq!(answer.reason().1, "BadRequest");
        }
    }
    // A watch has its own end, which this does not set.
    let watch = running.get("/api/v1/pods?watch=1&timeoutSeconds=1&timeout=nonsense").await;
    assert_eq!(watch.code, 200);
    running.stop();
}

#[tokio::test]
async fn who_may_not_ask_is_told_so_and_who_may_that_there_is_nothing() {
    let running = Running::start("answers-unserved");
    let cluster = |group: &str, resource: &str, verb: &str| {
        format!(
            "{resource}.{group} is forbidden: User \"bob\" cannot {verb} resource \"{resource}\" in API group \"{group}\" at the cluster scope"
        )
    };
    let review = "/apis/authorization.k8s.io/v1beta9/subjectaccessreviews";
    for (line, words) in [
        (
            format!("POST {review}"),
            cluster("authorization.k8s.io", "subjectaccessreviews", "create"),
        ),
        (
            "GET /apis/nope.example.com/v1/things".to_owned(),
            cluster("nope.example.com", "things", "list"),
        ),
        (
            "GET /api/v1/namespaces/default/gadgets/g".to_owned(),
            "gadgets \"g\" is forbidden: User \"bob\" cannot get resource \"gadgets\" in API group \"\" in the namespace \"default\"".to_owned(),
        ),
        (
            "GET /api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dp".to_owned(),
            "pods \"p\" is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\"".to_owned(),
        ),
    ] {
        let refused = running.as_bob(&line, "{}").await;
        assert_eq!(refused.reason(), (403, "Forbidden".to_owned()), "{line}");
        assert_eq!(message(&refused), words);
        if !line.contains("/pods") {
            let missing = send(&running.server, &line, JSON, "{}").await;
            assert_eq!(missing.code, 404, "{line}: {missing:?}");
        }
    }
    // A path that everyone may request is missing, not forbidden.
    let own = running
        .as_bob("POST /apis/authorization.k8s.io/v1beta9/selfsubjectaccessreviews", "{}")
        .await;
    assert_eq!(own.reason(), (404, "NotFound".to_owned()));
    running.stop();
}

#[tokio::test]
async fn paths_are_case_sensitive() {
    let running = Running::start("answers-case");
    for path in
        ["/API/v1/pods", "/API/v1/namespaces/default/pods/p", "/Apis/apps/v1", "/Api", "/VERSION"]
    {
        let answer = running.get(path).await;
        assert_eq!(answer.code, 404, "{path}");
        assert_eq!(answer.body, b"404 page not found\n", "{path}");
    }
    running.stop();
}

#[tokio::test]
async fn a_write_moves_nothing() {
    let running = Running::start("answers-moves");
    let list = "/api/v1/namespaces/default/configmaps";
    let made = running.make(list, &json!({"metadata": {"name": "a"}})).await;
    let path = format!("{list}/a");
    let namespace =
        "the namespace of the provided object does not match the namespace sent on the request";
    let name = "the name of the object (b) does not match the name on the URL (a)";
    for (metadata, words) in [
        (json!({"namespace": "kube-system"}), namespace),
        (json!({"name": "b"}), name),
        (json!({"name": "b", "namespace": "kube-system"}), namespace),
    ] {
        let patch = json!({"metadata": metadata});
        let strategic = send(
            &running.server,
            &format!("PATCH {path}"),
            "application/strategic-merge-patch+json",
            patch.to_string(),
        )
        .await;
        let mut whole = made.clone();
        whole["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        let put = send(&running.server, &format!("PUT {path}"), JSON, whole.to_string()).await;
        for answer in [running.merge(&path, &patch).await, strategic, put] {
            assert_eq!(answer.reason(), (400, "BadRequest".to_owned()), "{metadata}: {answer:?}");
            assert_eq!(message(&answer), words);
        }
    }
    // What is removed is that of the path.
    let same =
        running.merge(&path, &json!({"metadata": {"namespace": null}, "data": {"k": "v"}})).await;
    assert_eq!((same.code, &same.json()["metadata"]["namespace"]), (200, &json!("default")));
    let nameless = running.merge(&path, &json!({"metadata": {"name": null}})).await;
    assert_eq!(
        message(&nameless),
        "the name of the object (a based on URL) was undeterminable: name must be provided"
    );
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment = json!({"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    running.make("/apis/apps/v1/namespaces/default/deployments", &deployment).await;
    let scale = "/apis/apps/v1/namespaces/default/deployments/a/scale";
    let moved = running.merge(scale, &json!({"metadata": {"namespace": "kube-system"}})).await;
    assert_eq!((moved.code, message(&moved)), (400, namespace.to_owned()));
    running.stop();
}

#[tokio::test]
async fn an_eviction_sets_a_condition_on_the_pod() {
    let running = Running::start("answers-evictions");
    let list = "/api/v1/namespaces/default/pods";
    running.make("/api/v1/nodes", &node("n")).await;
    let made = running.make(list, &pod("p", "n")).await;
    let path = format!("{list}/p/eviction");
    let evict = |name: &str, options: &Value| json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options});
    let other = running.post(&path, &evict("q", &json!({}))).await;
    assert_eq!(other.reason(), (400, "BadRequest".to_owned()));
    assert_eq!(message(&other), "name in URL does not match name in Eviction object");
    // Neither a dry run nor a mismatched Pod changes anything.
    let dry = running.post(&path, &evict("p", &json!({"dryRun": ["All"]}))).await;
    assert_eq!(dry.code, 201);
    let uid = running.post(&path, &evict("p", &json!({"preconditions": {"uid": "x"}}))).await;
    assert_eq!(uid.reason(), (409, "Conflict".to_owned()));
    let version =
        running.post(&path, &evict("p", &json!({"preconditions": {"resourceVersion": "1"}}))).await;
    assert_eq!(version.reason(), (409, "Conflict".to_owned()));
    assert_eq!(running.get(&format!("{list}/p")).await.json(), made);
    let version = &made["metadata"]["resourceVersion"];
    let done = running
        .post(&path, &evict("p", &json!({"preconditions": {"resourceVersion": version}})))
        .await;
    assert_eq!((done.code, &done.json()["status"]), (201, &json!("Success")));
    let marked = running.get(&format!("{list}/p")).await.json();
    assert!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
    let conditions = marked["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|one| one["type"] == "DisruptionTarget").unwrap();
    assert_eq!(found["status"], "True");
    assert_eq!(found["reason"], "EvictionByEvictionAPI");
    assert_eq!(found["message"], "Eviction API: evicting");
    assert!(found["lastTransitionTime"].is_string());
    // A pending Pod is removed at once; older clients use an older version.
    running.make(list, &pod("waiting", "")).await;
    let old = json!({"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "waiting"}});
    assert_eq!(running.post(&format!("{list}/waiting/eviction"), &old).await.code, 201);
    assert_eq!(running.get(&format!("{list}/waiting")).await.code, 404);
    running.stop();
}

#[tokio::test]
async fn a_pod_has_the_zone_and_the_region_of_its_node() {
    let running = Running::start("answers-zones");
    let list = "/api/v1/namespaces/default/pods";
    running.make("/api/v1/nodes", &node("n")).await;
    let expected =
        json!({"topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "r"});
    let made = running.make(list, &pod("made", "n")).await;
    assert_eq!(made["metadata"]["labels"], expected);
    let astray = running.make(list, &pod("astray", "nowhere")).await;
    assert_eq!(astray["metadata"]["labels"], Value::Null);
    let bound = running.make(list, &pod("bound", "")).await;
    assert_eq!(bound["metadata"]["labels"], Value::Null);
    let binding = json!({"metadata": {"name": "bound"}, "target": {"kind": "Node", "name": "n"}});
    let mut other = binding.clone();
    other["metadata"]["uid"] = json!("another");
    let refused = running.post(&format!("{list}/bound/binding"), &other).await;
    assert_eq!(refused.reason(), (409, "Conflict".to_owned()), "{refused:?}");
    running.make(&format!("{list}/bound/binding"), &binding).await;
    let bound = running.get(&format!("{list}/bound")).await.json();
    assert_eq!(bound["metadata"]["labels"], expected);
    running.stop();
}

// Their absence ends Kubernetes' specs of chunks.
#[tokio::test]
async fn templates_and_revisions_are_kept() {
    let running = Running::start("answers-kinds");
    let templates = "/api/v1/namespaces/default/podtemplates";
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    let made = running
        .make(templates, &json!({"metadata": {"name": "t"}, "template": {"spec": spec}}))
        .await;
    assert_eq!(made["template"]["spec"]["restartPolicy"], "Always");
    assert_eq!(made["metadata"]["generation"], 1);
    let empty = running.post(templates, &json!({"metadata": {"name": "e"}})).await;
    assert_eq!(
        message(&empty),
        "PodTemplate \"e\" is invalid: template.spec.containers: Required value"
    );
    let page = running.get(&format!("{templates}?limit=1")).await.json();
    assert_eq!(
        (&page["kind"], page["items"].as_array().map(Vec::len)),
        (&json!("PodTemplateList"), Some(1))
    );
    let revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
    let made = running
        .make(
            revisions,
            &json!({"metadata": {"name": "r"}, "data": {"b": 1, "a": [1.5, null]}, "revision": 3}),
        )
        .await;
    assert_eq!((&made["data"], &made["revision"]), (&json!({"b": 1, "a": [1.5, null]}), &json!(3)));
    let none = running.post(revisions, &json!({"metadata": {"name": "e"}, "revision": 1})).await;
    assert_eq!(
        message(&none),
        "ControllerRevision.apps \"e\" is invalid: data: Required value: data is mandatory"
    );
    let path = format!("{revisions}/r");
    assert_eq!(running.merge(&path, &json!({"revision": 4})).await.json()["revision"], 4);
    let changed = running.merge(&path, &json!({"data": {"b": 2}})).await;
    assert_eq!(changed.code, 422);
    assert!(message(&changed).ends_with("field is immutable"), "{}", message(&changed));
    // They still exist after a restart.
    let Running { server } = running;
    let data = server.data.clone();
    server.stop();
    let running = Running { server: Server::start(&data) };
    for path in [path, format!("{templates}/t")] {
        assert_eq!(running.get(&path).await.code, 200, "{path}");
    }
    running.stop();
}
