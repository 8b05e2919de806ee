//! An API shared by tenants: `cargo run -p tower-fairness --example axum`, then
//! `curl -H 'x-user: acme:alice' -H 'x-group: paying' URL`.

use axum::{Router, extract::Request, middleware::map_request, routing::get};
use tower_fairness::{FairnessLayer, User, evenkeel_fairness::dialect};

const CONFIG: &str = include_str!("../../../examples/fairness/tenants/tenants.yaml");

#[tokio::main]
#[expect(clippy::print_stdout, reason = "it tells where it listens")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let compiled = dialect::load("tenants.yaml", CONFIG).compile();
    let config = compiled.map_err(|problems| problems[0].to_string())?.config;
    let fairness = FairnessLayer::new(config, 10)?;
    let app = Router::new()
        .route("/", get(|| async { "hello\n" }))
        .layer(fairness)
        .layer(map_request(authenticate));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

/// Whom a request is from; a real server would check.
async fn authenticate(mut request: Request) -> Request {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let name = header("x-user").unwrap_or("guest").to_owned();
    let groups = header("x-group").map(str::to_owned).into_iter().collect();
    request.extensions_mut().insert(User { name, groups });
    request
}
