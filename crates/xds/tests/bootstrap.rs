//! The bootstrap as text. That Envoy accepts it is shown where Envoy runs.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use evenkeel_xds::{
    Variant,
    bootstrap::{BackOff, Bootstrap, ControlPlane, Keepalive, render},
};

fn bootstrap() -> Bootstrap {
    Bootstrap {
        mesh: "default".into(),
        dataplane: "web-1".into(),
        service: Some("web".into()),
        zone: Some("zone-1".into()),
        tags: [("k8s.io/node".into(), "node1".into())].into(),
        variant: Variant::Incremental,
        control_plane: ControlPlane::Address("127.0.0.1:5678".parse().unwrap()),
        admin: Some("127.0.0.1:9901".parse().unwrap()),
        keepalive: Keepalive::default(),
        back_off: BackOff::default(),
    }
}

#[test]
fn the_text_is_what_envoy_reads() {
    let expected = r#"node:
  id: "default.web-1"
  cluster: "web"
  locality:
    zone: "zone-1"
  metadata:
    mesh: "default"
    dataplane: "web-1"
    "kuma.io/zone": "zone-1"
    tags:
      "k8s.io/node": "node1"
admin:
  address: {socket_address: {address: "127.0.0.1", port_value: 9901}}
dynamic_resources:
  ads_config:
    api_type: DELTA_GRPC
    transport_api_version: V3
    set_node_on_first_message_only: true
    grpc_services:
    - envoy_grpc:
        cluster_name: xds_cluster
        retry_policy:
          retry_back_off:
            base_interval: 0.500s
            max_interval: 5.000s
  cds_config:
    ads: {}
    resource_api_version: V3
  lds_config:
    ads: {}
    resource_api_version: V3
static_resources:
  clusters:
  - name: xds_cluster
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config:
          http2_protocol_options:
            connection_keepalive:
              interval: 10.000s
              timeout: 5.000s
    load_assignment:
      cluster_name: xds_cluster
      endpoints:
      - lb_endpoints:
        - endpoint:
            address: {socket_address: {address: "127.0.0.1", port_value: 5678}}
"#;
    assert_eq!(render(&bootstrap()), expected);
}

#[test]
fn what_is_not_known_is_left_out() {
    let small = Bootstrap {
        service: None,
        zone: None,
        tags: [].into(),
        admin: None,
        variant: Variant::StateOfTheWorld,
        control_plane: ControlPlane::Host { name: "xds.mesh".into(), port: 5678 },
        ..bootstrap()
    };
    let text = render(&small);
    let node = "node:\n  id: \"default.web-1\"\n  cluster: \"web-1\"\n  metadata:\n    \
                mesh: \"default\"\n    dataplane: \"web-1\"\ndynamic_resources:\n";
    assert!(text.starts_with(node), "{text}");
    assert!(text.contains("api_type: GRPC\n"));
    assert!(text.contains("type: STRICT_DNS\n"));
}

#[test]
fn names_stay_inside_their_quotes() {
    let evil = "a\"\nadmin: {}\\\u{2028}\u{7f}";
    let text = render(&Bootstrap { dataplane: evil.into(), ..bootstrap() });
    let line = text.lines().nth(1).unwrap();
    assert_eq!(line, r#"  id: "default.a\"\u000aadmin: {}\\\u2028\u007f""#);
}
