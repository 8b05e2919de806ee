//! A Kubernetes API that serves what it is given: no validation, so that it may lie, and no clock, so
//! that pages about it are always the same. Lists and watches, over plain HTTP.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// Kinds with the paths of their lists.
const PATHS: [(&str, &str); 9] = [
    ("Node", "/api/v1/nodes"),
    ("Pod", "/api/v1/pods"),
    ("Service", "/api/v1/services"),
    ("EndpointSlice", "/apis/discovery.k8s.io/v1/endpointslices"),
    ("Event", "/api/v1/events"),
    ("HorizontalPodAutoscaler", "/apis/autoscaling/v2/horizontalpodautoscalers"),
    ("Lease", "/apis/coordination.k8s.io/v1/leases"),
    ("FlowSchema", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"),
    (
        "PriorityLevelConfiguration",
        "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    ),
];

/// Its threads end with the process, or with the connections of those who ask.
pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// By the path of their list, then by namespace and name.
    objects: BTreeMap<&'static str, BTreeMap<String, Value>>,
    /// Texts of other paths.
    texts: BTreeMap<&'static str, String>,
    watches: Vec<Watch>,
    /// Changes since the start: path, version, line of a watch.
    changes: Vec<(&'static str, u64, String)>,
    version: u64,
}

struct Watch {
    path: &'static str,
    stream: TcpStream,
}

impl Api {
    pub(crate) fn start(objects: Vec<Value>) -> Api {
        Api::with_texts(objects, BTreeMap::new())
    }

    /// It answers these paths with texts, too.
    pub(crate) fn with_texts(objects: Vec<Value>, texts: BTreeMap<&'static str, String>) -> Api {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut state = State { texts, ..State::default() };
        for object in objects {
            state.put(object);
        }
        let state = Arc::new(Mutex::new(state));
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

    /// Replaces an object that exists, and tells those who watch.
    pub(crate) fn change(&self, object: Value) {
        let mut state = self.state.lock().unwrap();
        let (path, object) = state.put(object);
        let line = chunk(&(json!({"type": "MODIFIED", "object": object}).to_string() + "\n"));
        state.watches.retain_mut(|watch| {
            watch.path != path || watch.stream.write_all(line.as_bytes()).is_ok()
        });
        let version = state.version;
        state.changes.push((path, version, line));
    }
}

impl State {
    fn put(&mut self, mut object: Value) -> (&'static str, Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let kind = &object["kind"];
        let (_, path) = PATHS.iter().find(|(known, _)| *known == *kind).expect("a known kind");
        let name = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
        let key = format!("{}/{}", name("namespace"), name("name"));
        self.objects.entry(path).or_default().insert(key, object.clone());
        (path, object)
    }

    fn list(&self, kind: &str, path: &str) -> String {
        let items: Vec<&Value> =
            self.objects.get(path).into_iter().flat_map(BTreeMap::values).collect();
        let group = path.trim_start_matches("/apis/").trim_start_matches("/api/");
        let list = json!({
            "kind": format!("{kind}List"),
            "apiVersion": group.rsplit_once('/').unwrap().0,
            "metadata": {"resourceVersion": self.version.to_string()},
            "items": items,
        });
        list.to_string()
    }

    /// What changed since, and from now on what changes.
    fn watch(&mut self, path: &'static str, since: u64, mut stream: TcpStream) {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        let missed = self.changes.iter().filter(|(of, version, _)| *of == path && *version > since);
        let text: String = missed.map(|(_, _, line)| line.as_str()).collect();
        if stream.write_all((head.to_owned() + &text).as_bytes()).is_ok() {
            self.watches.push(Watch { path, stream });
        }
    }

    /// Ends a watch in order.
    fn end(&mut self, peer: SocketAddr) {
        let is_it = |watch: &Watch| watch.stream.peer_addr().is_ok_and(|it| it == peer);
        for mut watch in self.watches.extract_if(.., |watch| is_it(watch)) {
            let _ = watch.stream.write_all(b"0\r\n\r\n");
        }
    }
}

fn serve(state: &Mutex<State>, mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(target) = request(&mut reader) {
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let found = PATHS.iter().find(|(_, known)| *known == path);
        let parameter = |key: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let (status, body) = match found {
            Some((_, path)) if parameter("watch").is_some() => {
                let number = |key| parameter(key).and_then(|value| value.parse().ok());
                let peer = stream.peer_addr().unwrap();
                state.lock().unwrap().watch(path, number("resourceVersion").unwrap_or(0), stream);
                thread::sleep(Duration::from_secs(number("timeoutSeconds").unwrap_or(60)));
                return state.lock().unwrap().end(peer);
            }
            Some((kind, path)) => ("200 OK", state.lock().unwrap().list(kind, path)),
            None => match state.lock().unwrap().texts.get(path) {
                Some(text) => ("200 OK", text.clone()),
                None => ("404 Not Found", missing()),
            },
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

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
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
