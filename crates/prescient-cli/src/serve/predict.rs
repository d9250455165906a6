//! `POST /predict`: photos in, answers out.

use super::Service;
use super::answers::{Answered, Answers, Photo};
use super::body::{self, Sent};
use super::model::Live;
use super::problem::Problem;
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use bytes::Bytes;
use futures_util::future::join_all;
use prescient::Prediction;
use prescient::data::{Channels, Image, Untrusted};
use serde::Deserialize;
use std::sync::Arc;
use tokio::time::timeout;

/// Classes that an answer names unless told otherwise.
const TOP: usize = 5;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    top: Option<usize>,
}

/// The handler.
pub(super) async fn predict(
    State(service): State<Arc<Service>>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Answers>, Problem> {
    let top = asked.map_err(unknown_query).and_then(|Query(asked)| match asked.top.unwrap_or(TOP) {
        0 => Err(Problem::bad_request(
            "expected `top` to be at least 1, found 0",
            "`?top=3` names three classes a photo",
        )),
        top => Ok(top),
    })?;
    let upload = body::read(&headers, body, service.limits, service.budget.clone()).await?;
    let _share = service.budget.request()?;
    let live = service.models.current();
    let names: Vec<String> = upload.photos.iter().map(|sent| sent.name.clone()).collect();
    let answered = timeout(service.limits.time, answers(&service, &live, upload.photos)).await;
    let answered = answered.map_err(|_| {
        Problem::busy(format!("the photos were not answered within {} s", service.limits.time.as_secs()))
    })?;
    // One that cannot be read keeps no other from its answer; where none can be read, the first says why.
    if answered.iter().all(Result::is_err) || answered.iter().any(|one| one.as_ref().is_err_and(is_ours)) {
        let mut problems: Vec<Problem> = answered.into_iter().filter_map(Result::err).collect();
        // What is no fault of the client's comes first.
        problems.sort_by_key(|problem| !is_ours(problem));
        return Err(problems.swap_remove(0));
    }
    let photos = names.into_iter().zip(answered).map(|(photo, answer)| match answer {
        Ok(prediction) => Photo::Answered(Answered::new(photo, &prediction, &live.classes, top)),
        Err(problem) => Photo::Refused { photo, told: problem.told },
    });
    Ok(Json(Answers { model: live.model.clone(), photos: photos.collect() }))
}

fn is_ours(problem: &Problem) -> bool {
    problem.status.is_server_error()
}

pub(super) fn unknown_query(rejection: QueryRejection) -> Problem {
    let text = rejection.body_text();
    let reason = text.split_once("query string: ").map_or(text.as_str(), |(_, reason)| reason);
    let said = format!("the parameters behind `?` cannot be read: {reason}");
    Problem::bad_request(said, "`/openapi.json` lists the parameters there are")
}

/// The answer for each photo, all of them at work together. Who stops waiting stops the work, too.
async fn answers(service: &Service, live: &Live, photos: Vec<Sent>) -> Vec<Result<Prediction, Problem>> {
    join_all(photos.into_iter().map(|sent| answer(service, live, sent.bytes))).await
}

async fn answer(service: &Service, live: &Live, bytes: Bytes) -> Result<Prediction, Problem> {
    let cropper = live.cropper;
    let crop = move |image: Image| cropper.crop(&image).map_err(|error| Problem::ours(error.to_string()));
    let cropped = decoded(service, bytes, cropper.channels(), crop).await?;
    live.ask(cropped)?.await.map_err(|_| Problem::ours("the model has stopped"))?
}

/// What `then` makes of a photo, which is decoded on a thread for it, within the budget, and lives no longer than that.
pub(super) async fn decoded<T: Send + 'static>(
    service: &Service,
    bytes: Bytes,
    channels: Channels,
    then: impl FnOnce(Image) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let photo = Untrusted::open(bytes, service.limits.pixels)?;
    let shares = service.budget.decode(photo.pixels()).await?;
    let done = tokio::task::spawn_blocking(move || {
        let _shares = shares;
        then(photo.decode(channels)?)
    });
    done.await.map_err(|_| Problem::ours("the photo could not be decoded"))?
}
