//! As much of JSON Schema as our description uses, to hold answers to it.

use serde_json::Value;

/// What came back from `path` is what the description says of that status.
#[track_caller]
pub(crate) fn assert_described(description: &Value, path: &str, method: &str, status: u16, kind: &str, body: &[u8]) {
    let response = &description["paths"][path][method]["responses"][status.to_string()];
    assert!(!response.is_null(), "{method} {path} answers {status}, which is not described");
    let contents = response["content"].as_object().unwrap();
    let name = kind.split(';').next().unwrap();
    let content = contents.get(name).unwrap_or_else(|| panic!("{method} {path} answers with `{name}`: {contents:?}"));
    if name == "application/json" {
        let found: Value = serde_json::from_slice(body).unwrap();
        if let Err(error) = check(description, &content["schema"], &found) {
            panic!("{method} {path}, {status}: {error}\n{found:#}");
        }
    }
}

fn check(description: &Value, schema: &Value, found: &Value) -> Result<(), String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = description.pointer(reference.strip_prefix('#').unwrap());
        return check(description, target.ok_or_else(|| format!("`{reference}` leads nowhere"))?, found);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = choices.iter().filter(|choice| check(description, choice, found).is_ok()).count();
        return if fits == 1 { Ok(()) } else { Err(format!("{fits} of the choices fit {found}")) };
    }
    let is = |name: &str| match name {
        "string" => found.is_string(),
        "boolean" => found.is_boolean(),
        "integer" => found.is_i64() || found.is_u64(),
        "number" => found.is_number(),
        "array" => found.is_array(),
        "object" => found.is_object(),
        "null" => found.is_null(),
        other => panic!("a type `{other}`"),
    };
    let fits = match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
        other => panic!("a type {other}"),
    };
    if !fits {
        return Err(format!("expected {}, found {found}", schema["type"]));
    }
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(found)
    {
        return Err(format!("{found} is none of {choices:?}"));
    }
    let number = |key: &str| schema[key].as_f64();
    if let Some(value) = found.as_f64()
        && (number("minimum").is_some_and(|least| value < least) || number("maximum").is_some_and(|most| value > most))
    {
        return Err(format!("{value} is out of range"));
    }
    for one in found.as_array().into_iter().flatten() {
        check(description, &schema["items"], one)?;
    }
    let Some(fields) = found.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten() {
        if !fields.contains_key(name.as_str().unwrap()) {
            return Err(format!("{name} is missing"));
        }
    }
    for (name, value) in fields {
        match schema["properties"].get(name) {
            Some(schema) => check(description, schema, value).map_err(|error| format!("{name}: {error}"))?,
            None if schema["additionalProperties"] == false => return Err(format!("`{name}` is not described")),
            None => {}
        }
    }
    Ok(())
}
