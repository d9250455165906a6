//! An audit for people: a line a check, what speaks against it below, and what gives the numbers.

use crate::audit::{Audit, Check, SplitAudit};
use std::fmt::Write;

/// So many of what speaks against a check are shown.
const SHOWN: usize = 5;

pub(super) fn audit(audit: &Audit) -> String {
    let about = &audit.about;
    let split: Vec<String> = about.tasks.iter().map(usize::to_string).collect();
    let mut out = about.stamp.as_ref().map_or_else(String::new, |stamp| format!("{stamp}\n\n"));
    let _ = writeln!(out, "{} of {} tasks, {} classes\n", about.finished, split.len(), split.join("+"));
    for check in &audit.checks {
        out.push_str(&line(check));
    }
    if let Some(pretrained) = &about.pretrained {
        let _ = writeln!(out, "\n{pretrained}");
    }
    let _ = writeln!(out, "\nprogram  {}", about.version);
    let _ = writeln!(out, "seed     {}", about.seed);
    let _ = writeln!(out, "device   {}", about.device);
    let _ = writeln!(out, "data     {}", about.data);
    let _ = writeln!(out, "recipe   {}", about.recipe_digest);
    for line in about.recipe.lines() {
        let _ = writeln!(out, "{}", format!("    {line}").trim_end());
    }
    out
}

fn line(check: &Check) -> String {
    let mut out = format!("{} {:<10} {}\n", if check.holds { "✓" } else { "✗" }, check.name, check.says);
    out.push_str(&listed(&check.against));
    out
}

fn listed(against: &[String]) -> String {
    let mut out: String = against.iter().take(SHOWN).map(|one| format!("      {one}\n")).collect();
    if against.len() > SHOWN {
        let _ = writeln!(out, "      … and {} more", against.len() - SHOWN);
    }
    out
}

pub(super) fn split(audit: &SplitAudit) -> String {
    let SplitAudit { train, test, opened, .. } = audit;
    let plural = |count: &usize| if *count == 1 { "" } else { "s" };
    let mut out = format!("{train} training image{}, {test} test image{}", plural(train), plural(test));
    out.push_str(&match opened {
        0 => "; none of them is here, so they are compared by their paths alone\n\n".to_owned(),
        _ => format!("; {opened} of them are here and are compared by their pixels too\n\n"),
    });
    let shared = audit.shared();
    let sign = if audit.holds() { "✓" } else { "✗" };
    let share = 100.0 * shared as f64 / (*test).max(1) as f64;
    let _ = writeln!(out, "{sign} {share:.1} % of the test images are training images: {shared} of {test}");
    for (what, found) in [("the same path", &audit.same_path), ("the same pixels", &audit.same_content)] {
        if !found.is_empty() {
            let _ = writeln!(out, "    {what}: {}", found.len());
            out.push_str(&listed(found));
        }
    }
    if !audit.near.is_empty() {
        let _ = writeln!(out, "✗ {} test images look like training images", audit.near.len());
        out.push_str(&listed(&audit.near));
    }
    out
}
