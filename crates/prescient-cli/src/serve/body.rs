//! The body of a request: the bytes of one photo, or a form with several. Read within a time, a size, and the memory that all bodies share.

use super::limits::{Budget, Limits, Share};
use super::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// How long, and how much, of a refused body is still taken so that the client gets to read why.
const DRAIN: (Duration, usize) = (Duration::from_secs(2), 64 << 20);
/// As long as the text of a field may be, such as a class.
const TEXT: usize = 1024;

/// What a request brings.
#[derive(Debug, Default)]
pub(super) struct Upload {
    /// In the order in which they came.
    pub(super) photos: Vec<Sent>,
    /// The field `class` of a form.
    pub(super) class: Option<String>,
    /// The memory that they take.
    _shares: Vec<Share>,
}

/// A photo as it was sent.
#[derive(Debug)]
pub(super) struct Sent {
    /// The name of its file, or `photo`.
    pub(super) name: String,
    pub(super) bytes: Bytes,
}

/// Reads a body whole.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    limits: Limits,
    budget: Arc<Budget>,
) -> Result<Upload, Problem> {
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let kind = headers.get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or("?").trim().to_ascii_lowercase());
    let form = kind.as_deref().is_some_and(|kind| kind.starts_with("multipart/form-data"));
    let refused = match (declared, kind.as_deref()) {
        (Some(length), _) if length > limits.body as u64 => Some(too_large(limits.body)),
        _ if form => None,
        (_, None) => None,
        (_, Some(kind)) if kind.starts_with("image/") || kind.starts_with("application/octet-stream") => None,
        (_, Some(kind)) => Some(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("expected a photo or a form, found the content type `{kind}`"),
            "send `image/jpeg`, `image/png` and the like, `application/octet-stream`, or `multipart/form-data`",
        )),
    };
    let mut metered = Metered::new(body, limits, budget);
    if let Some(problem) = refused {
        // Who asks before sending is told, and sends nothing.
        if !headers.contains_key(header::EXPECT) {
            metered.drain();
        }
        return Err(problem);
    }
    let upload = match form {
        // Boundaries are told apart by case.
        true => {
            let boundary =
                headers[header::CONTENT_TYPE].to_str().ok().and_then(|kind| multer::parse_boundary(kind).ok());
            read_form(boundary, metered, limits).await?
        }
        false => {
            let mut parts = Vec::new();
            while let Some(part) = metered.next().await? {
                parts.push(part);
            }
            let sent = Sent { name: "photo".to_owned(), bytes: joined(parts) };
            Upload { photos: vec![sent], class: None, _shares: metered.shares }
        }
    };
    if upload.photos.len() == 1 && upload.photos[0].bytes.is_empty() {
        return Err(prescient::data::Refused::Empty.into());
    }
    Ok(upload)
}

fn joined(mut parts: Vec<Bytes>) -> Bytes {
    if parts.len() == 1 { parts.remove(0) } else { parts.concat().into() }
}

fn too_large(most: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("expected a body of at most {:.1} MiB, found a larger one", most as f64 / f64::from(1 << 20)),
        "scale photos down, or send fewer at a time; `--max-body` of the service sets the limit",
    )
}

/// The files of a form, and its field `class`.
async fn read_form(boundary: Option<String>, metered: Metered, limits: Limits) -> Result<Upload, Problem> {
    let not_a_form = |error: String| {
        Problem::bad_request(format!("the form cannot be read: {error}"), "send it as `curl -F photo=@a.jpg` does")
    };
    let boundary = boundary.ok_or_else(|| not_a_form("its content type names no boundary".to_owned()))?;
    // The parser wraps what stopped the stream; what it was lies here. The memory of a part that it has given out stays
    // accounted for until the request ends.
    let aside: Arc<Mutex<(Option<Problem>, Vec<Share>)>> = Arc::default();
    let noted = aside.clone();
    let chunks = stream::unfold(metered, move |mut metered| {
        let noted = noted.clone();
        async move {
            let next = metered.next().await;
            let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
            noted.1.append(&mut metered.shares);
            let item = match next {
                Ok(chunk) => Ok(chunk?),
                Err(problem) => {
                    noted.0 = Some(problem);
                    Err(std::io::Error::other("stopped"))
                }
            };
            drop(noted);
            Some((item, metered))
        }
    });
    let mut form = multer::Multipart::new(Box::pin(chunks), boundary);
    let mut upload = Upload::default();
    let read = async {
        while let Some(field) = form.next_field().await? {
            let (field_name, file_name) = (field.name().map(str::to_owned), field.file_name().map(str::to_owned));
            let bytes = field.bytes().await?;
            match (field_name.as_deref(), file_name) {
                (Some("class"), None) if bytes.len() <= TEXT => {
                    upload.class = Some(String::from_utf8_lossy(&bytes).trim().to_owned());
                }
                (Some("class"), None) => return Ok(Some(("the name of the class is too long", "a class is one line"))),
                (_, name) => {
                    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "photo".to_owned());
                    upload.photos.push(Sent { name: name.chars().take(255).collect(), bytes });
                }
            }
            if upload.photos.len() > limits.photos {
                return Ok(Some((
                    "there are too many photos in the form",
                    "send fewer at a time, in several requests",
                )));
            }
        }
        Ok::<_, multer::Error>(None)
    };
    let done = read.await;
    let (problem, shares) = std::mem::take(&mut *aside.lock().unwrap_or_else(PoisonError::into_inner));
    upload._shares = shares;
    match (problem, done) {
        (Some(problem), _) => Err(problem),
        (None, Err(error)) => Err(not_a_form(error.to_string())),
        (None, Ok(Some((error, hint)))) => Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, error, hint)),
        (None, Ok(None)) if upload.photos.is_empty() => Err(Problem::bad_request(
            "expected photos in the form, found none",
            "send each as a file: `curl -F photo=@a.jpg`",
        )),
        (None, Ok(None)) => Ok(upload),
    }
}

/// A body that is counted as it arrives.
struct Metered {
    body: Option<Body>,
    left: usize,
    limits: Limits,
    until: Instant,
    budget: Arc<Budget>,
    shares: Vec<Share>,
}

impl Metered {
    fn new(body: Body, limits: Limits, budget: Arc<Budget>) -> Self {
        Self {
            body: Some(body),
            left: limits.body,
            limits,
            until: Instant::now() + limits.time,
            budget,
            shares: Vec::new(),
        }
    }

    /// The next bytes; none at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let Some(body) = &mut self.body else { return Ok(None) };
        let frame = match timeout_at(self.until, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => {
                self.body = None;
                return Ok(None);
            }
            Ok(Some(Err(_))) => {
                return Err(Problem::bad_request("the body ended too early", "was the connection lost? Send it again"));
            }
            Err(_) => {
                return Err(Problem::new(
                    StatusCode::REQUEST_TIMEOUT,
                    format!("the body did not arrive within {} s", self.limits.time.as_secs()),
                    "send smaller photos, or start the service with a longer `--timeout`",
                ));
            }
        };
        let bytes = frame.into_data().unwrap_or_default();
        let share = match self.left.checked_sub(bytes.len()) {
            Some(left) => {
                self.left = left;
                self.budget.bytes(bytes.len())
            }
            None => Err(too_large(self.limits.body)),
        };
        match share {
            Ok(share) => {
                self.shares.push(share);
                Ok(Some(bytes))
            }
            Err(problem) => {
                self.drain();
                Err(problem)
            }
        }
    }

    /// Takes and drops what is still sent, for a while: a connection that is closed while its client sends may lose the answer.
    fn drain(&mut self) {
        let Some(mut body) = self.body.take() else { return };
        let (time, mut left) = DRAIN;
        let rest = async move {
            while let Some(Ok(frame)) = body.frame().await {
                match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
                    Some(fewer) => left = fewer,
                    None => break,
                }
            }
        };
        tokio::spawn(timeout(time, rest));
    }
}
