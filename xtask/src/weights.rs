//! Pretrained weights for the tests that compare with torchvision: fetched with the program itself, where they are required.
//!
//! Tests are skipped without them, and say so. `PRESCIENT_REQUIRE=weights` has them fetched, and makes those tests fail if
//! that did not work.

use std::path::Path;

use crate::environment::Environment;
use crate::steps::cargo;

/// The weights that tests use.
const NAMES: [&str; 3] = ["mobilenet-v2", "efficientnet-lite0", "minilm"];

/// Whether tests may not be skipped for want of weights.
pub(crate) fn required(environment: &Environment) -> bool {
    let named = environment.variable("PRESCIENT_REQUIRE").unwrap_or_default().to_string_lossy();
    named.split(',').any(|name| name.trim() == "weights")
}

/// Fetches what is not there yet. Whether it worked is seen by the tests, so nothing here is an error.
pub(crate) fn ensure(environment: &Environment, libtorch: &Path) {
    let mut command = cargo(environment, libtorch);
    // The profile of the tests, which build it anyway.
    command.args(["run", "--quiet", "--bin", "prescient", "--", "weights", "get"]).args(NAMES);
    if !command.status().is_ok_and(|status| status.success()) {
        eprintln!("set-up: the weights {} could not be fetched", NAMES.join(", "));
    }
}

/// What is to be said at the end.
pub(crate) fn note(environment: &Environment) -> &'static str {
    match required(environment) {
        true => "tests of pretrained weights were run",
        false => {
            "tests of pretrained weights were run where `prescient weights get` had fetched them; \
                  PRESCIENT_REQUIRE=weights fetches them"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_fetched_only_where_they_are_required() {
        let mut environment = Environment::of_this_process().expect("a root");
        for (named, expected) in [("", false), ("browser,data", false), ("browser, weights", true), ("weights", true)] {
            environment.variables.insert("PRESCIENT_REQUIRE".into(), named.into());
            assert_eq!(required(&environment), expected, "{named}");
        }
    }
}
