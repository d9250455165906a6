//! `--help` of every verb, word for word: a changed option is seen in review.
#![allow(clippy::unwrap_used)]

use assert_cmd::Command;

/// What `prescient VERBS --help` prints, 100 columns wide.
fn help(verbs: &[&str]) -> String {
    let mut command = Command::cargo_bin("prescient").unwrap();
    let output = command.args(verbs).arg("--help").env("COLUMNS", "100").env_remove("CLICOLOR_FORCE").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\u{1b}'), "no colours off a terminal");
    text
}

/// The verbs that a page of help lists below `Commands:`.
fn listed(page: &str) -> Vec<String> {
    let commands = page.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What a verb does may go on in a second line, further to the right.
    let verbs = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    verbs.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help").map(String::from).collect()
}

#[test]
fn the_help_of_every_verb() {
    let top = help(&[]);
    insta::assert_snapshot!("prescient", top);
    let verbs = listed(&top);
    assert!(verbs.len() >= 11, "{verbs:?}");
    for verb in &verbs {
        let page = help(&[verb]);
        insta::assert_snapshot!(format!("prescient-{verb}"), page);
        for inner in listed(&page) {
            insta::assert_snapshot!(format!("prescient-{verb}-{inner}"), help(&[verb, &inner]));
        }
    }
}
