//! `GET /openapi.json`: what is served, for programs. A test asks for every path and holds what comes back to these schemas.

use super::Service;
use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The handler: learning is described where it is on.
pub(super) async fn description(State(service): State<Arc<Service>>) -> Json<Value> {
    Json(describe(service.guard.learns()))
}

fn describe(learns: bool) -> Value {
    let mut paths = json!({
        "/": { "get": {
            "summary": "A page to drop photos on",
            "operationId": "page",
            "responses": { "200": { "description": "The page", "content": { "text/html": { "schema": { "type": "string" } } } } },
        } },
        "/predict": { "post": {
            "summary": "Classify photos",
            "description": "The bytes of one photo as the body, or several photos as the files of a form. Photos that arrive \
                            together, also from several clients, are computed together.",
            "operationId": "predict",
            "parameters": [{
                "name": "top", "in": "query", "required": false,
                "description": "How many classes are named for each photo, the most probable first",
                "schema": { "type": "integer", "minimum": 1, "default": 5 },
            }],
            "requestBody": photos("photos, each as a file under any name", &[]),
            "responses": responses("Answers", "An answer for each photo, or why it has none", &[400, 408, 413, 415, 422, 500, 503]),
        } },
        "/classes": { "get": {
            "summary": "The classes that the model can answer with, in order of arrival",
            "operationId": "classes",
            "responses": responses("Classes", "The classes", &[]),
        } },
        "/health": { "get": {
            "summary": "Whether the service answers, and with which model",
            "operationId": "health",
            "responses": responses("Health", "It does", &[]),
        } },
        "/metrics": { "get": {
            "summary": "Counters in the text format of Prometheus",
            "operationId": "metrics",
            "responses": { "200": { "description": "Counters", "content": { "text/plain": { "schema": { "type": "string" } } } } },
        } },
        "/openapi.json": { "get": {
            "summary": "This description",
            "operationId": "description",
            "responses": { "200": { "description": "OpenAPI 3.1", "content": { "application/json": { "schema": { "type": "object" } } } } },
        } },
    });
    let mut components = json!({ "schemas": schemas() });
    if learns {
        paths["/learn"] = learning();
        components["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
    }
    // What the guard answers, whatever the path.
    for operation in paths.as_object_mut().into_iter().flatten().filter_map(|(_, path)| path.as_object_mut()).flatten()
    {
        for status in [403, 421] {
            operation.1["responses"][status.to_string()] = problem(status);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "prescient",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Classifies photos, also into classes that it knows from a description alone.",
        },
        "paths": paths,
        "components": components,
    })
}

fn learning() -> Value {
    json!({ "post": {
        "summary": "Learn from photos of a class",
        "description": "A correction is a photo to learn from: a photo that was learned as another class leaves that class. The \
                        answer comes once the new version answers.",
        "operationId": "learn",
        "security": [{ "token": [] }],
        "parameters": [{
            "name": "class", "in": "query", "required": false,
            "description": "What the photos show, where the body is one photo; in a form it is the field `class`",
            "schema": { "type": "string", "maxLength": 200 },
        }, {
            "name": "add", "in": "query", "required": false,
            "description": "Whether the class may be one that is not known yet",
            "schema": { "type": "boolean", "default": false },
        }],
        "requestBody": photos("photos of one class, each as a file, and the field `class`", &["class"]),
        "responses": responses("Learned", "The version that has learned from them", &[400, 401, 408, 413, 415, 422, 500, 503]),
    } })
}

/// A body of one photo, or a form.
fn photos(form: &str, required: &[&str]) -> Value {
    let binary = json!({ "type": "string", "format": "binary" });
    let mut content: Map<String, Value> =
        ["image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp", "application/octet-stream"]
            .into_iter()
            .map(|kind| (kind.to_owned(), json!({ "schema": binary })))
            .collect();
    let mut properties = json!({ "photo": { "type": "array", "items": binary } });
    for name in required {
        properties[name] = json!({ "type": "string" });
    }
    let schema = json!({ "type": "object", "description": form, "properties": properties, "required": required });
    content.insert("multipart/form-data".to_owned(), json!({ "schema": schema }));
    json!({ "required": true, "content": content })
}

fn reference(name: &str) -> Value {
    json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{name}") } } })
}

fn responses(schema: &str, description: &str, problems: &[u16]) -> Value {
    let mut responses = json!({ "200": { "description": description, "content": reference(schema) } });
    for status in problems {
        responses[status.to_string()] = problem(*status);
    }
    responses
}

fn problem(status: u16) -> Value {
    let description = match status {
        400 => "The request cannot be understood, or has no photo",
        401 => "The token is missing or wrong",
        403 => "Not allowed: learning is off, or the request comes from a page elsewhere",
        408 => "The body did not arrive in time",
        413 => "The body, the photo or the form is too large",
        415 => "Not a photo that can be read",
        421 => "The service does not answer under this host name",
        422 => "The photo is damaged or cut short",
        503 => "More work than the service takes: ask again",
        _ => "A fault of the service",
    };
    json!({ "description": description, "content": reference("Problem") })
}

/// An object that has all of these and nothing else.
fn object(properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn schemas() -> Value {
    let part = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let list = |name: &str| json!({ "type": "array", "items": part(name) });
    let (text, truth, count) =
        (json!({ "type": "string" }), json!({ "type": "boolean" }), json!({ "type": "integer", "minimum": 0 }));
    let seen = json!({ "type": "boolean", "description": "Learned from photos; else known from a description alone" });
    let probability = json!({ "type": "number", "minimum": 0, "maximum": 1 });
    json!({
        "Model": object(json!({ "name": text, "version": count })),
        "Class": object(json!({ "class": text, "seen": seen })),
        "Classes": object(json!({ "model": part("Model"), "classes": list("Class") })),
        "Probable": object(json!({ "class": text, "probability": probability, "seen": seen })),
        "Nearest": object(json!({ "seen": list("Probable"), "described": list("Probable") })),
        "Answered": object(json!({ "photo": text, "predictions": list("Probable"), "nearest": part("Nearest") })),
        "Refused": object(json!({ "photo": text, "error": text, "hint": text })),
        "Answers": object(json!({
            "model": part("Model"),
            "photos": { "type": "array", "items": { "oneOf": [part("Answered"), part("Refused")] } },
        })),
        "Learned": object(json!({ "model": part("Model"), "class": text, "photos": count })),
        "Health": object(json!({
            "status": { "type": "string", "enum": ["ok"] },
            "model": part("Model"),
            "classes": count, "seen": count, "learns": truth, "waiting": count, "uptime_seconds": count,
            "reload_error": { "type": ["string", "null"] },
        })),
        "Problem": object(json!({ "error": text, "hint": text })),
    })
}
