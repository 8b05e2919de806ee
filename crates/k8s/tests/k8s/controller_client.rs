//! What a kubeconfig says of its user holds for the client of controllers too.

use evenkeel_k8s::live::{ClusterSource, controller_client};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
};

use crate::live::{File, file};

/// Asks for the version as `user`, and gives the head of the request in lower case.
async fn head(name: &str, user: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    let File(path) = &file(
        name,
        &format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             clusters: [{{name: c, cluster: {{server: \"http://{server}/base\"}}}}]\n\
             users: [{{name: u, user: {user}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u, namespace: shop}}}}]\n"
        ),
    );
    let serve = async {
        let mut stream = BufReader::new(listener.accept().await.unwrap().0);
        let mut head = String::new();
        while stream.read_line(&mut head).await.unwrap() > 2 {}
        let answer = b"HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        head.to_lowercase()
    };
    let ask = async {
        let client =
            controller_client(&ClusterSource::file(path.clone(), None)).await.unwrap().client;
        assert_eq!(client.default_namespace(), "shop");
        client.apiserver_version().await.unwrap_err()
    };
    let head = tokio::select! {
        head = serve => head,
        error = ask => panic!("{name}: {error}"),
    };
    assert!(head.starts_with("get /base/version http/1.1\r\n"), "{head}");
    head
}

#[tokio::test]
async fn users_are_known_by_whatever_the_kubeconfig_has() {
    let token_file = file("token", "from-file");
    let exec = r#"{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh,
        args: [-c, 'echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"from-exec\"}}"']}}"#;
    let cases = [
        ("none", "{}".to_owned(), ""),
        ("bearer", "{token: given}".to_owned(), "authorization: bearer given"),
        ("basic", "{username: a, password: b}".to_owned(), "authorization: basic ytpi"),
        (
            "file",
            format!("{{tokenFile: \"{}\"}}", token_file.0.display()),
            "authorization: bearer from-file",
        ),
        ("exec", exec.to_owned(), "authorization: bearer from-exec"),
        (
            "impersonate",
            "{token: given, as: other, as-groups: [g]}".to_owned(),
            "impersonate-user: other\r\nimpersonate-group: g",
        ),
    ];
    for (name, user, expected) in cases {
        let head = head(name, &user).await;
        assert!(head.contains(expected), "{name}: {head}");
    }
}
