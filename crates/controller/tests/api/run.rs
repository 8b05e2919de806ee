//! A controller's beginning and end, whatever it does in between.

use std::{net::SocketAddr, time::Duration};

use evenkeel_admin::lease;
use evenkeel_controller::{Error, Ready, Settings, WatchSettings, engine, run};
use kube::{Client, Config};
use tokio::{net::TcpListener, sync::oneshot, time::timeout};

use crate::server::server;

const PATIENCE: Duration = Duration::from_secs(20);

fn settings(listen: Option<SocketAddr>) -> Settings {
    let (engine, watches) = (engine::Settings::default(), WatchSettings::default());
    Settings { engine, election: None, listen, watches, reports: None, address: None }
}

fn any_port() -> Option<SocketAddr> {
    Some("127.0.0.1:0".parse().unwrap())
}

#[tokio::test]
async fn it_is_ready_when_the_first_lists_are_in_and_ends_when_told() {
    let (server, client) = server().await;
    let (ready, is_ready) = oneshot::channel();
    let (stop, is_stopped) = oneshot::channel::<()>();
    let ready = |it: Ready| ready.send(it).unwrap();
    let running = tokio::spawn(run(client, settings(any_port()), ready, async {
        is_stopped.await.unwrap();
    }));
    let ready = timeout(PATIENCE, is_ready).await.unwrap().unwrap();
    assert_ne!(ready.admin.unwrap().port(), 0);
    stop.send(()).unwrap();
    timeout(PATIENCE, running).await.unwrap().unwrap().unwrap();
    server.stop().await;
}

#[tokio::test]
async fn an_api_server_that_is_away_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let client = Client::try_from(Config::new(uri)).unwrap();
    // It takes connections and closes them: so it is known that a watch has failed at least once.
    let stop = async {
        for _ in 0..4 {
            drop(listener.accept().await.unwrap());
        }
    };
    let running = run(client, settings(None), |_| panic!("nothing was listed"), stop);
    timeout(PATIENCE, running).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_port_in_use_is_said_plainly() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let client = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
    let ended = run(client, settings(Some(address)), |_| (), std::future::pending()).await;
    let error = ended.unwrap_err();
    assert!(matches!(error, Error::Listen { .. }), "{error:?}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    assert_eq!(error.help(), Some("stop the process that listens there, or set another --listen"));
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused() {
    let mut wrong = settings(None);
    wrong.engine.topology.max_endpoints_per_slice = 0;
    let client = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
    let ended = run(client.clone(), wrong, |_| (), std::future::pending()).await;
    assert!(matches!(ended, Err(Error::Settings(_))), "{ended:?}");
    let election = lease::Settings {
        namespace: "kube-system".to_owned(),
        name: "leader".to_owned(),
        identity: String::new(),
        duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
    };
    let wrong = Settings { election: Some(election), ..settings(None) };
    let ended = run(client, wrong, |_| (), std::future::pending()).await;
    assert!(matches!(ended, Err(Error::Election(_))), "{ended:?}");
}
