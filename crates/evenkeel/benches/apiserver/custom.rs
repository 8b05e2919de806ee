//! Custom resources: the cost of 500 definitions of 20 KB, and of an object against a ConfigMap of
//! its size.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::{
    Failure, config_maps,
    load::{
        connection::request,
        server::{Folder, Server, runtime},
        table::Figure,
    },
    memory::resident,
};

const DEFINITIONS: usize = 500;
const DEFINITION_BYTES: usize = 20_000;
const STARTS: usize = 5;
/// Objects of each kind in a round, and rounds: the two kinds take turns, so that both see the same
/// machine.
const OBJECTS: usize = 4_000;
const ROUNDS: usize = 5;

const DEFINITIONS_PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

pub(crate) fn run() -> Result<Vec<Figure>, Failure> {
    let folder = Folder::new("definitions")?;
    let server = Server::start(&folder)?;
    runtime().block_on(define(&server))?;
    let memory = resident(&server)? / 1e6;
    drop(server);
    let ready = started(&folder)?;
    let folder = Folder::new("custom")?;
    let server = Server::start(&folder)?;
    let ratio = runtime().block_on(against_config_maps(&server))?;
    Ok(vec![
        Figure {
            what: "ready with 500 definitions of 20 KB".into(),
            here: format!("{ready:.0} ms"),
            target: "400 ms",
            kubernetes: "",
            met: ready < 400.0,
        },
        Figure {
            what: "memory, 500 definitions of 20 KB".into(),
            here: format!("{memory:.0} MB"),
            target: "100 MB",
            kubernetes: "",
            met: memory < 100.0,
        },
        Figure {
            what: "CPU of a custom resource / a ConfigMap of its size".into(),
            here: format!("{ratio:.2}"),
            target: "1.5",
            kubernetes: "",
            met: ratio <= 1.5,
        },
    ])
}

/// Creates the definitions, and waits until all of them are served.
async fn define(server: &Server) -> Result<(), Failure> {
    let mut connection = server.connect().await?;
    for n in 0..DEFINITIONS {
        let body = definition(n, DEFINITION_BYTES);
        let create = request("POST", DEFINITIONS_PATH, "application/json", &body);
        connection.answer(&create).await?;
    }
    let last = format!("/apis/group-{:04}.example.com/v1/widgets", DEFINITIONS - 1);
    served(server, &last).await
}

async fn served(server: &Server, path: &str) -> Result<(), Failure> {
    let begun = Instant::now();
    loop {
        let mut connection = server.connect().await?;
        match connection.get(path).await {
            Ok(_) => return Ok(()),
            Err(error) if begun.elapsed() > Duration::from_secs(10) => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Started again, several times; the median until it was ready, in milliseconds.
fn started(folder: &Folder) -> Result<f64, Failure> {
    let mut took = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        drop(Server::start(folder)?);
        took.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    took.sort_by(f64::total_cmp);
    Ok(took[STARTS / 2])
}

/// The CPU time of the server for an object of each kind: the median of the rounds' ratios.
async fn against_config_maps(server: &Server) -> Result<f64, Failure> {
    let mut connection = server.connect().await?;
    let create = request("POST", DEFINITIONS_PATH, "application/json", &definition(0, 2_000));
    connection.answer(&create).await?;
    let path = "/apis/group-0000.example.com/v1/namespaces/default/widgets";
    served(server, path).await?;
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let mut cpu = [0.0; 2];
        for (index, taken) in cpu.iter_mut().enumerate() {
            let before = cpu_seconds(server)?;
            for n in 0..OBJECTS {
                let name = format!("object-{round}-{n:08}");
                let create = match index {
                    0 => config_maps::create(&name, ""),
                    _ => request("POST", path, "application/json", &widget(&name)),
                };
                connection.answer(&create).await?;
            }
            *taken = cpu_seconds(server)? - before;
        }
        ratios.push(cpu[1] / cpu[0]);
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios[ROUNDS / 2])
}

/// User and system time of all threads.
fn cpu_seconds(server: &Server) -> Result<f64, Failure> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.id()))?;
    let fields = stat.rsplit(')').next().ok_or("no stat")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || -> Result<f64, Failure> { Ok(fields.next().ok_or("no times")?.parse()?) };
    Ok((ticks()? + ticks()?) / rustix::param::clock_ticks_per_second() as f64)
}

/// Of the size of a ConfigMap of the load, in several fields that the schema checks.
fn widget(name: &str) -> String {
    let filler = "x".repeat(780);
    format!(
        r#"{{"apiVersion":"group-0000.example.com/v1","kind":"Widget","metadata":{{"name":"{name}","labels":{{"app":"load"}}}},"spec":{{"field0":{{"name":"a","size":3,"mode":"On","tags":["a","b"]}},"field1":{{"name":"b","size":5,"mode":"Off","tags":["c"]}},"text":"{filler}"}}}}"#
    )
}

/// A definition of about so many bytes: objects with a name, a bounded number, an enumeration and a
/// set.
fn definition(n: usize, bytes: usize) -> String {
    let field = r#"{"type":"object","description":"One of the parts of a widget: its name, its size between one and ten, whether it is on, and what it is tagged with.","required":["name"],"properties":{"name":{"type":"string","minLength":1,"maxLength":63,"pattern":"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},"size":{"type":"integer","minimum":1,"maximum":10},"mode":{"type":"string","enum":["On","Off"],"default":"On"},"tags":{"type":"array","maxItems":8,"x-kubernetes-list-type":"set","items":{"type":"string","maxLength":63}}}}"#;
    let n_fields = (bytes / field.len()).max(2);
    let fields: Vec<String> = (0..n_fields).map(|at| format!(r#""field{at}":{field}"#)).collect();
    let fields = fields.join(",");
    let group = format!("group-{n:04}.example.com");
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"widgets.{group}"}},"spec":{{"group":"{group}","scope":"Namespaced","names":{{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"}},"versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{"text":{{"type":"string"}},{fields}}}}}}}}}}},"subresources":{{"status":{{}}}}}}]}}}}"#
    )
}
