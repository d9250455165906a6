//! What a client is told where there is no answer: a status, what is wrong, and what to do about it.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prescient::data::Refused;
use serde::Serialize;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) told: Told,
}

/// Its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Told {
    /// What is wrong.
    pub(super) error: String,
    /// What to do about it.
    pub(super) hint: String,
}

impl Problem {
    pub(super) fn new(status: StatusCode, error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { status, told: Told { error: error.into(), hint: hint.into() } }
    }

    pub(super) fn bad_request(error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error, hint)
    }

    /// More work than fits: nothing is wrong with the request.
    pub(super) fn busy(error: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            error,
            "the service has more work than it takes: ask again in a second",
        )
    }

    /// What only a fault of ours can cause.
    pub(super) fn ours(error: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error, "this is a fault of the service: its log says more")
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let (status, hint) = match refused {
            Refused::Empty => {
                (StatusCode::BAD_REQUEST, "send the bytes of a photo as the body, or photos as the files of a form")
            }
            Refused::NotAnImage => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "convert it, for example to JPEG, and send that")
            }
            Refused::TooLarge { .. } => {
                (StatusCode::PAYLOAD_TOO_LARGE, "scale it down first: the model looks at a small square of it anyway")
            }
            Refused::Cut => (StatusCode::UNPROCESSABLE_ENTITY, "was it copied or sent in full? Send the whole file"),
            Refused::Broken(_) => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "the file may be damaged or cut short: open it in a viewer and save it anew",
            ),
        };
        Self::new(status, refused.to_string(), hint)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.told)).into_response();
        let header = match self.status {
            StatusCode::SERVICE_UNAVAILABLE => Some((header::RETRY_AFTER, "1")),
            StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, "Bearer")),
            // What is left of the body is not waited for.
            StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE => Some((header::CONNECTION, "close")),
            _ => None,
        };
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
