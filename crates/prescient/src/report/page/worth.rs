//! What descriptions are worth, on the page: for each kind of run of the closed form, that of its lowest seed.

use super::html;
use crate::report::figure::{Table, escape};
use crate::report::runs::Kind;
use crate::report::worth::{LEGEND, said};
use std::fmt::Write;

/// The section, or nothing where no run is of the closed form.
pub(super) fn section(kinds: &[Kind<'_>]) -> String {
    let mut out = String::new();
    let (mut tables, mut parts) = (false, 0);
    for kind in kinds {
        let Some(mut said) = said(&kind.first().record) else { continue };
        let seed = kind.first().record.start.seed;
        let _ = writeln!(out, "<div class=\"column\"><h3>{}, seed {seed}</h3>", escape(&kind.name));
        if !said.rows.is_empty() {
            tables = true;
            let head = said.rows.remove(0);
            out.push_str(&html(&Table { head, rows: said.rows }));
        }
        for sentence in &said.sentences {
            let _ = writeln!(out, "<p>{}</p>", escape(sentence));
        }
        out.push_str("</div>\n");
        parts += 1;
    }
    if parts == 0 {
        return out;
    }
    let legend = if tables { format!("<p class=\"faint\">{}</p>\n", escape(LEGEND)) } else { String::new() };
    format!(
        "<section id=\"worth\"><h2>What descriptions are worth</h2>\n{legend}<div class=\"worths\">{out}</div></section>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::runs::testing::read_run;
    use crate::report::worth::testing::closed_record;

    #[test]
    fn a_page_shows_it_where_there_is_something_to_show() {
        let mut run = read_run("closed", 1, "", &[[0; 8]]);
        assert_eq!(section(&Kind::among(std::slice::from_ref(&run))), "");
        run.record = closed_record();
        run.record.start.classes[0] = "<b>".to_owned();
        let text = section(&Kind::among(std::slice::from_ref(&run)));
        for part in ["<td>4.2", "<td>62 %", "<td>base model", "guessing would gain no more", "ant (described like bee)"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
