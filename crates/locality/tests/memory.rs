//! What a Dataplane takes in memory, as written and in the index.

use allocation_counter::measure;
use evenkeel_locality::{
    Compat,
    resource::{Form, Resource, Strings, parse},
    view::{Settings, View},
};
use serde_json::json;

const N: usize = 10_000;
/// In bytes, for a Dataplane with four tags on its inbound and no outbound.
const MOST: usize = 1_500;

fn dataplane(n: usize, strings: &mut Strings) -> Resource {
    let tags = json!({
        "kuma.io/service": format!("service-{}", n % 1_000),
        "kuma.io/protocol": "http",
        "kuma.io/zone": format!("zone-{}", n % 3),
        "k8s.io/node": format!("node-{}-{}", n % 3, n / 3 % 20),
    });
    let value = json!({
        "type": "Dataplane", "mesh": "default", "name": format!("proxy-{n}"),
        "networking": {
            "address": format!("10.0.{}.{}", n >> 8, n & 255),
            "inbound": [{"port": 8080, "servicePort": 9090, "tags": tags}],
        },
    });
    let mut resource = parse(&value, Form::File, Compat::Record).expect("it is valid");
    strings.share(&mut resource);
    resource
}

#[test]
fn a_dataplane_is_held_once() {
    let (mut written, mut strings) = (Vec::new(), Strings::default());
    let resources = measure(|| written = (0..N).map(|n| dataplane(n, &mut strings)).collect());
    let mut view = View::new(Settings::default());
    let index = measure(|| {
        for resource in &written {
            view.apply(resource.clone());
        }
    });
    let each = |bytes: i64| usize::try_from(bytes).expect("it holds something") / N;
    let (resources, index) = (each(resources.bytes_current), each(index.bytes_current));
    let all = resources + index;
    assert!(all <= MOST, "{all} bytes: {resources} as written, {index} in the index");
}
