//! Invalid specs and their errors, in Kubernetes' wording.

use serde_json::{Value, json};

use super::*;
use crate::kinds::pod::defaults;

/// A pod with these fields in its spec, and these in its only container.
fn pod_with(spec: &Value, container: &Value) -> Value {
    let mut pod =
        json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}});
    for (name, value) in container.as_object().unwrap() {
        pod["spec"]["containers"][0][name] = value.clone();
    }
    for (name, value) in spec.as_object().unwrap() {
        pod["spec"][name] = value.clone();
    }
    defaults::pod(&mut pod);
    pod
}

fn check(spec: &Value, container: &Value, expected: &[&str]) {
    let errors: Vec<String> =
        pod(&pod_with(spec, container)).iter().map(ToString::to_string).collect();
    assert_eq!(errors, expected);
}

#[test]
fn containers_have_names_images_and_known_policies() {
    check(&json!({}), &json!({}), &[]);
    check(
        &json!({}),
        &json!({"imagePullPolicy": "Maybe", "terminationMessagePolicy": "Log", "image": " x "}),
        &[
            "spec.containers[0].terminationMessagePolicy: Unsupported value: \"Log\": supported values: \"File\", \"FallbackToLogsOnError\"",
            "spec.containers[0].imagePullPolicy: Unsupported value: \"Maybe\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
            "spec.containers[0].image: Invalid value: \" x \": must not have leading or trailing whitespace",
        ],
    );
    check(
        &json!({"initContainers": [{"name": "c", "image": "x"}, {"name": "d", "image": "x", "readinessProbe": {"exec": {"command": ["a"]}}}]}),
        &json!({}),
        &[
            "spec.initContainers[0].name: Duplicate value: \"c\"",
            "spec.initContainers[1].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
        ],
    );
    check(
        &json!({"initContainers": [{"name": "d", "image": "x", "restartPolicy": "Sometimes"}]}),
        &json!({"restartPolicyRules": [{"action": "Stop"}]}),
        &[
            "spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
            "spec.containers[0].restartPolicyRules[0].action: Unsupported value: \"Stop\": supported values: \"Restart\", \"RestartAllContainers\"",
            "spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
            "spec.initContainers[0].restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"Never\", \"OnFailure\"",
        ],
    );
}

#[test]
fn host_ports_are_unique() {
    check(
        &json!({}),
        &json!({"ports": [{"containerPort": 80, "hostPort": 80, "name": "web"}, {"containerPort": 81, "hostPort": 80, "name": "web"}]}),
        &[
            "spec.containers[0].ports[1].name: Duplicate value: \"web\"",
            "spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//80\"",
        ],
    );
    check(
        &json!({"hostNetwork": true}),
        &json!({"ports": [{"containerPort": 80, "hostPort": 81}]}),
        &[
            "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
        ],
    );
}

#[test]
fn environment_comes_from_one_place() {
    check(
        &json!({}),
        &json!({"env": [
            {"name": ""},
            {"name": "A=B"},
            {"name": "A", "valueFrom": {}},
            {"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}},
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.volumes"}}},
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}},
            {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}},
            {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}, "configMapKeyRef": {"name": "s", "key": "k"}}}],
            "envFrom": [{}, {"configMapRef": {"name": ""}}]}),
        &[
            "spec.containers[0].env[0].name: Required value",
            "spec.containers[0].env[1].name: Invalid value: \"A=B\": a valid environment variable name must consist only of printable ASCII characters other than '='",
            "spec.containers[0].env[2].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
            "spec.containers[0].env[3].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
            "spec.containers[0].env[4].valueFrom.fieldRef.fieldPath: Unsupported value: \"status.phase\": supported values: \"metadata.name\", \"metadata.namespace\", \"metadata.uid\", \"spec.nodeName\", \"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", \"status.podIP\", \"status.podIPs\"",
            "spec.containers[0].env[5].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.volumes\": error converting fieldPath: field label not supported: spec.volumes",
            "spec.containers[0].env[7].valueFrom.resourceFieldRef.divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are supported with the cpu resource",
            "spec.containers[0].env[8].valueFrom.secretKeyRef.key: Required value",
            "spec.containers[0].env[8].valueFrom: Invalid value: \"\": may not have more than one field specified at a time",
            "spec.containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
            "spec.containers[0].envFrom[1].configMapRef.name: Required value",
        ],
    );
}

#[test]
fn mounts_and_volumes_fit() {
    check(
        &json!({"volumes": [
            {"name": "v", "emptyDir": {}},
            {"name": "v", "emptyDir": {}},
            {"name": "w", "emptyDir": {}, "hostPath": {"path": "/x"}},
            {"name": "h", "hostPath": {"path": "/a/../b", "type": "Disk"}},
            {"name": "c", "configMap": {"name": "m", "defaultMode": 512, "items": [{"key": "k", "path": "../x"}]}},
            {"name": "p", "persistentVolumeClaim": {"claimName": ""}},
            {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 1}}]}}]}),
        &json!({"volumeMounts": [
            {"name": "v", "mountPath": "/v"},
            {"name": "v", "mountPath": "/v", "subPath": "/a"},
            {"name": "h", "mountPath": ""}]}),
        &[
            "spec.volumes[1].name: Duplicate value: \"v\"",
            "spec.volumes[2].hostPath: Forbidden: may not specify more than 1 volume type",
            "spec.volumes[3].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
            "spec.volumes[3].hostPath.type: Unsupported value: \"Disk\": supported values: \"\", \"BlockDevice\", \"CharDevice\", \"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"",
            "spec.volumes[4].configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
            "spec.volumes[4].configMap.items[0].path: Invalid value: \"../x\": must not contain '..'",
            "spec.volumes[5].persistentVolumeClaim.claimName: Required value",
            "spec.volumes[6].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
            "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/v\": must be unique",
            "spec.containers[0].volumeMounts.subPath: Invalid value: \"/a\": must be a relative path",
            "spec.containers[0].volumeMounts[2].name: Not found: \"h\"",
            "spec.containers[0].volumeMounts[2].mountPath: Required value",
            "spec.volumes[6].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
        ],
    );
}

#[test]
fn resources_are_known_and_within_limits() {
    check(
        &json!({}),
        &json!({"resources": {
            "limits": {"cpu": "-1", "example.com/gpu": "1", "hugepages-2Mi": "3Mi", "pods": "1", "x": "1"},
            "requests": {"example.com/gpu": "2", "example.com/fpga": "1", "memory": "1Gi"}}}),
        &[
            "spec.containers[0].resources.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
            "spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi",
            "spec.containers[0].resources.limits[pods]: Invalid value: \"pods\": must be a standard resource for containers",
            "spec.containers[0].resources.limits[x]: Invalid value: \"x\": must be a standard resource type or fully qualified",
            "spec.containers[0].resources.limits[x]: Invalid value: \"x\": must be a standard resource for containers",
            "spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be equal to example.com/gpu limit of 1",
            "spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi",
            "spec.containers[0].resources.requests[pods]: Invalid value: \"pods\": must be a standard resource for containers",
            "spec.containers[0].resources.requests[x]: Invalid value: \"x\": must be a standard resource type or fully qualified",
            "spec.containers[0].resources.requests[x]: Invalid value: \"x\": must be a standard resource for containers",
        ],
    );
}

#[test]
fn probes_ask_in_one_way() {
    check(
        &json!({}),
        &json!({
            "livenessProbe": {"httpGet": {"port": 0, "scheme": "FTP"}, "successThreshold": 2},
            "readinessProbe": {"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}, "periodSeconds": -1},
            "startupProbe": {},
            "lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}),
        &[
            "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)",
            "spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value: \"FTP\": supported values: \"HTTP\", \"HTTPS\"",
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
            "spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
            "spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.containers[0].startupProbe: Required value: must specify a handler type",
        ],
    );
}

#[test]
fn names_and_places_are_checked() {
    check(
        &json!({"dnsPolicy": "None", "activeDeadlineSeconds": 0, "hostname": "a.b", "nodeName": "N",
            "hostAliases": [{"ip": "1.2.3", "hostnames": ["a_b"]}], "schedulingGates": [{"name": "g"}, {"name": "g"}],
            "preemptionPolicy": "Soon", "os": {"name": "plan9"}, "readinessGates": [{"conditionType": "a b"}],
            "shareProcessNamespace": true, "hostPID": true}),
        &json!({}),
        &[
            "spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
            "spec.readinessGates[0].conditionType: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "spec.schedulingGates[1]: Duplicate value: \"g\"",
            "spec.nodeName: Invalid value: \"N\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
            "spec.hostname: Invalid value: \"a.b\": must not contain dots",
            "spec.hostAliases[0].ip: Invalid value: \"1.2.3\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            "spec.hostAliases[0].hostnames[0]: Invalid value: \"a_b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "spec.preemptionPolicy: Unsupported value: \"Soon\": supported values: \"PreemptLowerPriority\", \"Never\"",
            "spec.os: Unsupported value: \"plan9\": supported values: \"linux\", \"windows\"",
        ],
    );
}

#[test]
fn affinity_and_spread_are_checked() {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    check(
        &json!({"affinity": {
            "nodeAffinity": {
                required: {"nodeSelectorTerms": [{
                    "matchExpressions": [{"key": "k", "operator": "In"}, {"key": "k", "operator": "Like"}, {"key": "k", "operator": "Gt", "values": ["1", "2"]}],
                    "matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]}]},
                preferred: [{"weight": 0, "preference": {}}]},
            "podAntiAffinity": {required: [{"topologyKey": "zone", "matchLabelKeys": ["a"]}]}},
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2},
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]}),
        &json!({}),
        &[
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].operator: Invalid value: \"Like\": not a valid selector operator",
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[2].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key: Invalid value: \"spec.x\": not a valid field selector key",
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100",
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
            "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{z, ScheduleAnyway}\"",
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
        ],
    );
}

#[test]
fn security_contexts_are_checked() {
    check(
        &json!({"securityContext": {"runAsUser": -1, "sysctls": [{"name": "A"}], "seccompProfile": {"type": "Localhost"}}}),
        &json!({"securityContext": {"allowPrivilegeEscalation": false, "privileged": true, "procMount": "Unmasked"}}),
        &[
            "spec.containers[0].securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`",
            "spec.containers[0].securityContext: Invalid value: {\"Capabilities\":null,\"Privileged\":true,\"SELinuxOptions\":null,\"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,\"RunAsNonRoot\":null,\"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\"ProcMount\":\"Unmasked\",\"SeccompProfile\":null,\"AppArmorProfile\":null}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            "spec.securityContext.sysctls[0].name: Invalid value: \"A\": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            "spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
        ],
    );
}

/// Whatever is removed from a pod that has nearly everything, validation does not panic.
#[test]
fn nothing_missing_makes_a_check_fail_itself() {
    let rich = pod_with(
        &json!({"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}}]}},
                {"name": "d", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}}],
            "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "z", "labelSelector": {}}}]}},
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"a": "b"}}}],
            "tolerations": [{"key": "k", "operator": "Exists"}], "initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always"}],
            "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}], "schedulingGates": [{"name": "g"}],
            "securityContext": {"sysctls": [{"name": "a.b"}], "seccompProfile": {"type": "Unconfined"}}}),
        &json!({"ports": [{"containerPort": 1}], "env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
            "volumeMounts": [{"name": "v", "mountPath": "/v"}], "livenessProbe": {"httpGet": {"port": "web"}},
            "lifecycle": {"preStop": {"sleep": {"seconds": 1}}}, "resources": {"limits": {"cpu": "1"}},
            "securityContext": {"capabilities": {"add": ["X"]}}}),
    );
    let mut pointers = Vec::new();
    collect(&rich, "", &mut pointers);
    assert!(pointers.len() > 80);
    for pointer in pointers {
        let mut poor = rich.clone();
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        match poor.pointer_mut(parent).unwrap() {
            Value::Object(fields) => drop(fields.remove(last)),
            Value::Array(items) => drop(items.remove(last.parse().unwrap())),
            _ => unreachable!("a parent has children"),
        }
        pod(&poor);
        defaults::pod(&mut poor);
        pod(&poor);
        crate::kinds::pod::warnings::of(&poor, &Path::none());
    }
}

fn collect(value: &Value, at: &str, pointers: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (name, child) in children {
        let pointer = format!("{at}/{}", name.replace('/', "~1"));
        collect(child, &pointer, pointers);
        pointers.push(pointer);
    }
}
