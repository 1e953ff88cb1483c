//! `/_test/…`: control over HTTP.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Answer, error, json as answer, not_found};
use crate::fault::Rule;
use crate::http::{Head, Request};
use crate::hub::{Hub, State};
use crate::setup::Setup;

pub(crate) fn control(state: &Arc<State>, request: &Request) -> Answer {
    match (request.method.as_str(), request.path()) {
        ("GET", "/_test/log") => answer(&json!(state.log.entries())),
        ("DELETE", "/_test/log") => {
            state.log.reset();
            answer(&Value::Null)
        }
        ("GET", "/_test/faults") => answer(&json!(state.rules.list())),
        ("DELETE", "/_test/faults") => {
            state.rules.clear();
            answer(&Value::Null)
        }
        ("POST", "/_test/faults") => or_bad_request(rules(request).map(|rules| {
            rules.into_iter().for_each(|rule| state.rules.add(rule));
            Value::Null
        })),
        ("POST", "/_test/setup") => {
            let setup = serde_json::from_slice::<Setup>(&request.body).map_err(|e| e.to_string());
            let hub = Hub::from_state(Arc::clone(state));
            or_bad_request(setup.and_then(|setup| setup.apply(&hub).map_err(|e| e.to_string())))
        }
        _ => not_found("no such control"),
    }
}

/// One rule, or a list of them.
fn rules(request: &Request) -> Result<Vec<Rule>, String> {
    let value: Value = serde_json::from_slice(&request.body).map_err(|e| e.to_string())?;
    let list = if value.is_array() { value } else { json!([value]) };
    serde_json::from_value(list).map_err(|e| e.to_string())
}

fn or_bad_request(result: Result<Value, String>) -> Answer {
    match result {
        Ok(value) => answer(&value),
        Err(message) => error(Head::new(400), None, &message),
    }
}
