//! A definition that is deleted while objects are written leaves none to its successor.

use kube::{
    Api, CustomResourceExt,
    api::{ListParams, PostParams},
};
use tokio::{sync::mpsc, task::JoinSet};

use super::{
    define, in_time,
    lamp::{Lamp, LampSpec},
    undefine,
};
use crate::process::{Server, folder};

const ROUNDS: usize = 6;
const N_WRITERS: usize = 4;
/// Objects that exist when the definition is deleted.
const N_BEFORE: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_begins_without_objects_of_its_predecessor() {
    let data = folder("custom-successors");
    let server = Server::start(&data);
    let client = server.client().await;
    let api: Api<Lamp> = Api::namespaced(client.clone(), "default");
    for _ in 0..ROUNDS {
        define(&client, &Lamp::crd()).await;
        assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 0);
        let (created_tx, mut created) = mpsc::unbounded_channel();
        let mut writers: JoinSet<u16> =
            (0..N_WRITERS).map(|_| write(api.clone(), created_tx.clone())).collect();
        for _ in 0..N_BEFORE {
            in_time("creating", created.recv()).await.unwrap();
        }
        undefine(&client, &Lamp::crd()).await;
        while let Some(code) = in_time("the end of the kind", writers.join_next()).await {
            assert_eq!(code.unwrap(), 404);
        }
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// Creates objects until the kind is gone. Returns the code of the refusal.
async fn write(api: Api<Lamp>, created: mpsc::UnboundedSender<()>) -> u16 {
    let mut lamp = Lamp::new("", LampSpec { watts: 5, bulbs: 1, colour: None });
    lamp.metadata.name = None;
    lamp.metadata.generate_name = Some("lamp-".to_owned());
    loop {
        match api.create(&PostParams::default(), &lamp).await {
            Ok(_) => drop(created.send(())),
            // The definition is terminating.
            Err(kube::Error::Api(status)) if status.code == 403 => {}
            Err(kube::Error::Api(status)) => return status.code,
            Err(error) => panic!("{error}"),
        }
    }
}
