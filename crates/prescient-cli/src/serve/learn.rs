//! `POST /learn`: photos of a class, from who has the token. A correction is such a photo.
//!
//! One thread teaches. What has gathered while it was at work becomes one version; the answer comes once that version answers.

use super::answers::Learned;
use super::body::{self, Upload};
use super::models::Models;
use super::predict::{decoded, unknown_query};
use super::problem::Problem;
use super::{Service, metrics::Metrics};
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use futures_util::future::try_join_all;
use prescient::error::{Error, ProjectError, Result as Outcome};
use prescient::learner::Silent;
use prescient::project::{Lesson, Project};
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// As many lessons may wait.
const QUEUE: usize = 64;
/// A lesson takes seconds; one that waits behind others, or for another process, takes longer.
const PATIENCE: Duration = Duration::from_secs(300);
/// The name of a class has at most so many characters.
const NAME: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    class: Option<String>,
    add: Option<bool>,
}

/// The handler.
pub(super) async fn learn(
    State(service): State<Arc<Service>>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Learned>, Problem> {
    service.guard.may_learn(&headers)?;
    let teacher = service.teacher.as_ref().ok_or_else(|| Problem::ours("nobody teaches"))?;
    let Query(asked) = asked.map_err(unknown_query)?;
    let mut upload = body::read(&headers, body, service.limits, service.budget.clone()).await?;
    let class = named(upload.class.take().or(asked.class))?;
    let _share = service.budget.request()?;
    // All photos are read before any is learned.
    let channels = service.models.current().cropper.channels();
    let photos = upload.photos.iter().map(|sent| decoded(&service, sent.bytes.clone(), channels, |_| Ok(())));
    let read = timeout(service.limits.time, try_join_all(photos)).await;
    read.map_err(|_| Problem::busy("the photos were not read in time"))??;
    let answer = teacher.teach(Task { class, add: asked.add.unwrap_or(false), upload })?;
    let learned = timeout(PATIENCE, answer).await.map_err(|_| Problem::busy("the photos were not learned in time"))?;
    learned.map_err(|_| Problem::ours("the thread that teaches has stopped"))?.map(Json)
}

/// The name of a class, if it can be one.
fn named(class: Option<String>) -> Result<String, Problem> {
    let class = class.map(|class| class.trim().to_owned()).filter(|class| !class.is_empty());
    let class = class.ok_or_else(|| {
        Problem::bad_request(
            "expected a class, found none",
            "name it in the field `class` of the form, or as `?class=NAME`",
        )
    })?;
    match class.chars().count() > NAME || class.chars().any(char::is_control) {
        true => Err(Problem::bad_request(
            "this cannot be the name of a class",
            "a name is one line, 200 characters at most",
        )),
        false => Ok(class),
    }
}

/// Photos of one class.
struct Task {
    class: String,
    /// Whether the class may be new.
    add: bool,
    upload: Upload,
}

type Answer = Result<Learned, Problem>;

/// The thread that teaches.
pub(super) struct Teacher(SyncSender<(Task, oneshot::Sender<Answer>)>);

impl Teacher {
    /// Opens the project, whose newest version must be the one that answers.
    pub(super) fn start(
        project: &Path,
        device: tch::Device,
        models: Arc<Models>,
        metrics: Arc<Metrics>,
    ) -> Outcome<Self> {
        let mut project = Project::open_on(project, device)?;
        let (lessons, waiting) = sync_channel(QUEUE);
        let work = move || work(&mut project, &waiting, &models, &metrics);
        let started = std::thread::Builder::new().name("teacher".to_owned()).spawn(work);
        started.map_err(prescient::error::RunError::io(Path::new("the thread that teaches")))?;
        Ok(Self(lessons))
    }

    fn teach(&self, task: Task) -> Result<oneshot::Receiver<Answer>, Problem> {
        let (answer, answered) = oneshot::channel();
        self.0.try_send((task, answer)).map_err(|error| match error {
            TrySendError::Full(_) => Problem::busy(format!("{QUEUE} lessons are waiting already")),
            TrySendError::Disconnected(_) => Problem::ours("the thread that teaches has stopped"),
        })?;
        Ok(answered)
    }
}

fn work(
    project: &mut Project,
    waiting: &Receiver<(Task, oneshot::Sender<Answer>)>,
    models: &Models,
    metrics: &Metrics,
) {
    while let Ok(first) = waiting.recv() {
        let (tasks, askers): (Vec<Task>, Vec<_>) = std::iter::once(first).chain(waiting.try_iter()).unzip();
        let together = lesson(project, &tasks);
        let learned: Vec<Answer> = match (together, tasks.as_slice()) {
            (Ok(()), tasks) => tasks.iter().map(|task| Ok(answer(task, models))).collect(),
            (Err(problem), [_]) => vec![Err(problem)],
            // What is wrong with one must not keep the others from being learned.
            (Err(_), tasks) => tasks
                .iter()
                .map(|task| lesson(project, std::slice::from_ref(task)).map(|()| answer(task, models)))
                .collect(),
        };
        for (asker, answer) in askers.into_iter().zip(learned) {
            if let Ok(learned) = &answer {
                metrics.learned.fetch_add(learned.photos as u64, Ordering::Relaxed);
            }
            let _ = asker.send(answer);
        }
    }
}

/// Learns all photos of some tasks as one version.
fn lesson(project: &mut Project, tasks: &[Task]) -> Result<(), Problem> {
    let mut lesson = Lesson::new("corrections");
    // Who says that a class is new has said so; all others were looked up.
    lesson.add_classes = true;
    let names = known(project).map_err(|error| told(&error))?;
    for task in tasks {
        let class = match names.iter().find(|name| name.to_lowercase() == task.class.to_lowercase()) {
            Some(name) => name,
            None if task.add => &task.class,
            None => return Err(unknown(&task.class)),
        };
        for sent in &task.upload.photos {
            lesson = lesson.with(class, &sent.name, &sent.bytes[..]);
        }
    }
    match project.learn(&lesson, &mut Silent) {
        Ok(_) => Ok(()),
        Err(error) => {
            tracing::error!("nothing was learned: {}", error.message());
            Err(told(&error))
        }
    }
}

/// The classes of the newest version, which another process may have made.
fn known(project: &Project) -> Outcome<Vec<String>> {
    let newest = Project::open(project.path())?;
    Ok(newest.classes()?.names().map(String::from).collect())
}

/// The newest version answers from here on.
fn answer(task: &Task, models: &Models) -> Learned {
    models.refresh();
    Learned { model: models.current().model.clone(), class: task.class.clone(), photos: task.upload.photos.len() }
}

fn unknown(class: &str) -> Problem {
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        format!("there is no class `{class}`"),
        "`/classes` lists those there are; if it is a new one, say so with `?add=true`",
    )
}

fn told(error: &Error) -> Problem {
    let hint = error.hint().unwrap_or_else(|| "the log of the service says more".to_owned());
    let status = match error {
        Error::Project(ProjectError::Locked { .. }) => StatusCode::SERVICE_UNAVAILABLE,
        Error::Project(
            ProjectError::TwoClasses { .. } | ProjectError::BadName { .. } | ProjectError::DamagedPhotos { .. },
        ) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Problem::new(status, error.to_string(), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_one_short_line() {
        let status = |class: &str| named(Some(class.to_owned())).err().map_or(200, |problem| problem.status.as_u16());
        assert_eq!(named(Some(" red fox ".to_owned())).expect("a name"), "red fox");
        assert_eq!([status(""), status("  "), status("a\nb"), status("a\u{1b}[2J")], [400; 4]);
        assert_eq!((status(&"é".repeat(200)), status(&"é".repeat(201))), (200, 400));
        assert_eq!(named(None).expect_err("none").status.as_u16(), 400);
    }
}
