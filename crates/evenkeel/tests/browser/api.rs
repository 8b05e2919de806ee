//! A Kubernetes API that serves what it is given: no validation, so that it may lie, and no clock, so
//! that pages about it are always the same. Lists and watches, over plain HTTP.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

/// Kinds with the paths of their lists.
const PATHS: [(&str, &str); 7] = [
    ("Node", "/api/v1/nodes"),
    ("Pod", "/api/v1/pods"),
    ("Service", "/api/v1/services"),
    ("EndpointSlice", "/apis/discovery.k8s.io/v1/endpointslices"),
    ("Event", "/api/v1/events"),
    ("HorizontalPodAutoscaler", "/apis/autoscaling/v2/horizontalpodautoscalers"),
    ("Lease", "/apis/coordination.k8s.io/v1/leases"),
];

/// Its threads end with the process, or with the connections of those who ask.
pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// By the path of their list, then by namespace and name.
    objects: Mutex<BTreeMap<&'static str, BTreeMap<String, Value>>>,
    /// By the path of the list.
    watches: Mutex<Vec<(String, TcpStream)>>,
    version: AtomicU64,
}

impl Api {
    pub(crate) fn start(objects: Vec<Value>) -> Api {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        for object in objects {
            state.put(object);
        }
        let served = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&served);
                thread::spawn(move || serve(&state, stream));
            }
        });
        Api { address, state }
    }

    /// A kubeconfig in `folder`.
    pub(crate) fn kubeconfig(&self, folder: &str) -> PathBuf {
        let path = PathBuf::from(folder).join("kubeconfig");
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": format!("http://{}", self.address)}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "users": [{"name": "it", "user": {}}],
        });
        fs::write(&path, config.to_string()).unwrap();
        path
    }

    /// Replaces an object, or adds it, and tells those who watch.
    pub(crate) fn change(&self, object: Value) {
        let path = self.state.put(object.clone());
        let version = self.state.version.load(Ordering::SeqCst);
        let mut object = object;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let line = json!({"type": "MODIFIED", "object": object}).to_string() + "\n";
        let chunk = format!("{:x}\r\n{line}\r\n", line.len());
        let mut watches = self.state.watches.lock().unwrap();
        watches.retain_mut(|(of, stream)| of != path || stream.write_all(chunk.as_bytes()).is_ok());
    }
}

impl State {
    fn put(&self, mut object: Value) -> &'static str {
        let version = self.version.fetch_add(1, Ordering::SeqCst) + 1;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let kind = object["kind"].as_str().unwrap().to_owned();
        let (_, path) =
            PATHS.iter().find(|(known, _)| *known == kind).expect("a kind that is served");
        let name = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let key = format!("{}/{}", name("namespace"), name("name"));
        self.objects.lock().unwrap().entry(path).or_default().insert(key, object);
        path
    }

    fn list(&self, path: &str) -> Option<String> {
        let (kind, path) = PATHS.iter().find(|(_, known)| *known == path)?;
        let objects = self.objects.lock().unwrap();
        let items: Vec<&Value> = objects.get(path).into_iter().flat_map(BTreeMap::values).collect();
        let version = self.version.load(Ordering::SeqCst).to_string();
        let group = path.trim_start_matches("/apis/").trim_start_matches("/api/");
        let list = json!({
            "kind": format!("{kind}List"),
            "apiVersion": group.rsplit_once('/')?.0,
            "metadata": {"resourceVersion": version},
            "items": items,
        });
        Some(list.to_string())
    }
}

fn serve(state: &State, mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(target) = request(&mut reader) {
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let is_watch = query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
        let list = state.list(path);
        if is_watch && list.is_some() {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
            if stream.write_all(head.as_bytes()).is_ok() {
                state.watches.lock().unwrap().push((path.to_owned(), stream));
            }
            return;
        }
        let (status, body) = match list {
            Some(list) => ("200 OK", list),
            None => ("404 Not Found", missing()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

/// What is asked for; `None` when nothing more is.
fn request(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    first.split(' ').nth(1).map(str::to_owned)
}

fn missing() -> String {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
        .to_string()
}
