//! What descriptions are worth and what guesses cost, on the page: for each kind of run, that of its lowest seed.

use super::html;
use crate::experiment::Record;
use crate::report::figure::{Table, escape};
use crate::report::runs::Kind;
use crate::report::worth::Said;
use crate::report::{promise, worth};
use std::fmt::Write;

/// The sections, or nothing where no run has any.
pub(super) fn sections(kinds: &[Kind<'_>]) -> String {
    let worth = section(kinds, ("worth", "What descriptions are worth", worth::LEGEND), worth::said);
    worth + &section(kinds, ("cost", "What guesses cost", promise::LEGEND), promise::said)
}

fn section(
    kinds: &[Kind<'_>],
    (id, title, legend): (&str, &str, &str),
    said: impl Fn(&Record) -> Option<Said>,
) -> String {
    let mut out = String::new();
    // Those that nothing describes say the same, and say it once.
    let mut bare: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for kind in kinds {
        let Some(mut said) = said(&kind.first().record) else { continue };
        let name = format!("{}, seed {}", kind.name, kind.first().record.start.seed);
        if !said.rows.is_empty() {
            let head = said.rows.remove(0);
            part(&mut out, &name, &html(&Table { head, rows: said.rows }), &said.sentences);
        } else if let Some((names, _)) = bare.iter_mut().find(|(_, sentences)| *sentences == said.sentences) {
            names.push(name);
        } else {
            bare.push((vec![name], said.sentences));
        }
    }
    let legend = if out.is_empty() { String::new() } else { format!("<p class=\"faint\">{}</p>\n", escape(legend)) };
    for (names, sentences) in bare {
        part(&mut out, &names.join("; "), "", &sentences);
    }
    if out.is_empty() {
        return out;
    }
    format!("<section id=\"{id}\"><h2>{title}</h2>\n{legend}<div class=\"worths\">{out}</div></section>\n")
}

fn part(out: &mut String, name: &str, table: &str, sentences: &[String]) {
    let _ = writeln!(out, "<div class=\"column\"><h3>{}</h3>{table}", escape(name));
    for sentence in sentences {
        let _ = writeln!(out, "<p>{}</p>", escape(sentence));
    }
    out.push_str("</div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::runs::testing::read_run;
    use crate::report::worth::testing::closed_record;

    #[test]
    fn a_page_shows_it_where_there_is_something_to_show() {
        let mut run = read_run("closed", 1, "", &[[0; 8]]);
        assert_eq!(sections(&Kind::among(std::slice::from_ref(&run))), "");
        run.record = closed_record();
        run.record.start.classes[0] = "<b>".to_owned();
        let text = sections(&Kind::among(std::slice::from_ref(&run)));
        for part in ["<td>4.2", "<td>62 %", "<td>base model", "guessing would gain no more", "ant (described like bee)"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
