//! Which path leads where, and what every answer carries.

use super::answers::{Classes, Health};
use super::problem::Problem;
use super::{Service, learn, openapi, page, predict};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use std::sync::Arc;
use std::time::Instant;

/// What is served where; whatever else is asked for is not there. `/openapi.json` describes each of these.
pub(super) const PATHS: [&str; 7] = ["/", "/classes", "/health", "/learn", "/metrics", "/openapi.json", "/predict"];

/// The whole service.
pub(super) fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/", get(page::page))
        .route("/predict", post(predict::predict))
        .route("/learn", post(learn::learn))
        .route("/classes", get(classes))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi::description))
        .method_not_allowed_fallback(not_so)
        .fallback(nothing_here)
        .layer(middleware::from_fn_with_state(service.clone(), around))
        .with_state(service)
}

/// Guards, counts, and adds the headers that every answer has.
async fn around(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let path =
        PATHS.into_iter().find(|path| request.extensions().get::<MatchedPath>().is_some_and(|at| at.as_str() == *path));
    let method = known(request.method());
    let in_flight = service.metrics.in_flight.held();
    let mut response = match service.guard.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    drop(in_flight);
    service.metrics.request(method, path.unwrap_or("other"), response.status().as_u16(), begun.elapsed());
    tracing::info!("{method} {} {} {:?}", path.unwrap_or("other"), response.status().as_u16(), begun.elapsed());
    let headers = response.headers_mut();
    let mut add = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    add(header::CACHE_CONTROL, "no-store");
    add(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(header::REFERRER_POLICY, "no-referrer");
    add(header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'");
    add(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    response
}

/// Methods are counted by name, and anybody can make one up.
fn known(method: &Method) -> &'static str {
    ["GET", "POST", "HEAD"].into_iter().find(|one| *one == method.as_str()).unwrap_or("other")
}

async fn nothing_here() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "there is nothing at this path", "`/openapi.json` lists what there is")
}

async fn not_so() -> Problem {
    let hint = "`/predict` and `/learn` take POST, all else takes GET: `/openapi.json` says which";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method", hint)
}

async fn classes(State(service): State<Arc<Service>>) -> Json<Classes> {
    let live = service.models.current();
    Json(Classes { model: live.model.clone(), classes: live.classes.clone() })
}

async fn health(State(service): State<Arc<Service>>) -> Json<Health> {
    let live = service.models.current();
    Json(Health {
        status: "ok",
        model: live.model.clone(),
        classes: live.classes.len(),
        seen: live.classes.iter().filter(|class| class.seen).count(),
        learns: service.guard.learns(),
        waiting: service.metrics.waiting.get(),
        uptime_seconds: service.begun.elapsed().as_secs(),
        reload_error: service.models.failed(),
    })
}

async fn metrics(State(service): State<Arc<Service>>) -> impl IntoResponse {
    let text = service.metrics.text(service.models.current().model.version);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}
