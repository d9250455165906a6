//! The page: everything that a report has to show, in one file that needs nothing else.
//!
//! The figures are the ones that `--figures` writes. A small script moves the slider, tells values where one points, and
//! saves figures and numbers; without it the last task is shown.

mod data;
mod worth;

use crate::evaluation::statistics::Summary;
use crate::report::figure::accuracy::spread;
use crate::report::figure::{Figure, STYLE, Table, escape, variables};
use crate::report::gallery::{Aspect, Gallery};
use crate::report::runs::Kind;
use std::fmt::Write;

const TEMPLATE: &str = include_str!("page.html");
const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What sums a run up: what it is called, and the metric, after the last finished task or the first.
const HEADLINES: &[(&str, &str, bool)] = &[
    ("continual accuracy", "continual", true),
    ("final accuracy", "final", true),
    ("forgetting", "forgetting", true),
    ("unseen, after task 1", "unseen", false),
];

/// Kinds of runs that the title names.
const NAMED: usize = 4;

/// The page of a gallery.
pub fn page(gallery: &Gallery<'_>) -> String {
    let tasks = gallery.details.iter().map(|detail| detail.frames.len()).max().unwrap_or(0);
    let names: Vec<&str> = gallery.kinds.iter().map(|kind| kind.name.as_str()).collect();
    let named = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(NAMED);
    let title = format!("{named}{} – prescient", if more > 0 { format!(" and {more} more") } else { String::new() });
    let style = format!(
        ":root{{{day}}}\n@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{night}}}}}\n\
         :root[data-theme=dark]{{{night}}}\n@media print{{:root,:root[data-theme=dark]{{{day}}}}}\n{CSS}",
        day = variables(false),
        night = variables(true)
    );
    fill(
        TEMPLATE,
        &[
            ("TITLE", &escape(&title)),
            ("STYLE", &style),
            ("FIGURE_STYLE", STYLE),
            ("STAMPS", &stamps(&gallery.kinds)),
            ("HEADLINES", &gallery.kinds.iter().map(headline).collect::<String>()),
            ("RUNS", &runs(&gallery.kinds)),
            ("OVERVIEW", &gallery.overview.iter().map(|drawn| figure(drawn, None)).collect::<String>()),
            ("FEW", &gallery.few.iter().map(few).collect::<String>()),
            ("WORTH", &worth::sections(&gallery.kinds)),
            ("TASKS", &by_task(gallery, tasks)),
            ("WHOLE", &whole(gallery)),
            ("RECIPES", &gallery.kinds.iter().map(recipe).collect::<String>()),
            ("DATA", &data::data(gallery)),
            ("SCRIPT", SCRIPT),
        ],
    )
}

/// The template with `{{NAME}}`s filled in, in one pass: what is filled in is not looked at again.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("a name in our own template ends");
        let value = values.iter().find(|(known, _)| *known == name).expect("a name of our own template").1;
        out.push_str(before);
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Why numbers are no results, where they are none: before anything else.
fn stamps(kinds: &[Kind<'_>]) -> String {
    let stamp = |kind: &Kind<'_>| {
        let stamp = kind.first().record.start.stamp()?;
        Some(format!("<p class=\"stamp\" role=\"note\"><b>{}</b> – {}</p>\n", escape(&kind.name), escape(&stamp)))
    };
    let pretrained = |kind: &Kind<'_>| {
        let pretrained = kind.first().record.start.pretrained()?;
        Some(format!("<p class=\"note\" role=\"note\"><b>{}</b> – {}</p>\n", escape(&kind.name), escape(&pretrained)))
    };
    kinds.iter().filter_map(stamp).chain(kinds.iter().filter_map(pretrained)).collect()
}

fn headline(kind: &Kind<'_>) -> String {
    let done = kind.finished();
    let all = kind.first().record.start.tasks.len();
    let mut out = format!("<section class=\"card\"><h3>{}</h3><p class=\"faint\">{}", escape(&kind.name), kind.seeds());
    if done < all {
        let _ = write!(out, "; {done} of {all} tasks are finished");
    }
    out.push_str("</p><dl>");
    if done == 0 {
        out.push_str("<div><dt>no task is finished yet</dt><dd>–</dd></div>");
    }
    for (name, metric, last) in HEADLINES.iter().filter(|_| done > 0) {
        let value: Option<Summary> = kind.mean(metric, if *last { done } else { 1 });
        let value = value.map_or_else(|| "–".to_owned(), spread);
        let _ = write!(out, "<div><dt>{name}</dt><dd data-metric=\"{metric}\">{value}</dd></div>");
    }
    out.push_str("</dl></section>\n");
    out
}

/// What was run, run by run.
fn runs(kinds: &[Kind<'_>]) -> String {
    let mut table = Table {
        head: ["kind", "folder", "seed", "classes", "tasks", "finished", "device", "version", "data"]
            .map(String::from)
            .to_vec(),
        rows: Vec::new(),
    };
    for (kind, run) in kinds.iter().flat_map(|kind| kind.runs.iter().map(move |run| (kind, run))) {
        let start = &run.record.start;
        let sizes: Vec<String> = start.tasks.iter().map(usize::to_string).collect();
        table.rows.push(vec![
            kind.name.clone(),
            run.folder.clone(),
            start.seed.to_string(),
            start.classes.len().to_string(),
            sizes.join("+"),
            run.finished().to_string(),
            start.device.clone(),
            start.version.clone(),
            start.data.clone(),
        ]);
    }
    html(&table)
}

/// Figures of one task at a time, runs of different kinds beside each other.
fn by_task(gallery: &Gallery<'_>, tasks: usize) -> String {
    let mut out = String::new();
    for aspect in Aspect::ALL {
        let has = |frame: &Vec<(Aspect, Figure)>| frame.iter().any(|(other, _)| *other == aspect);
        if !gallery.details.iter().any(|detail| detail.frames.iter().any(has)) {
            continue;
        }
        let drawn = gallery.details.iter().flat_map(|detail| detail.frames.iter().flatten());
        let about = drawn.filter(|(other, _)| *other == aspect).map(|(_, figure)| figure.about.as_str()).next();
        let _ = writeln!(
            out,
            "<section class=\"aspect\"><h3>{}</h3><p class=\"faint\">{}</p><div class=\"columns\">",
            aspect.heading(),
            escape(about.unwrap_or_default())
        );
        for (kind, detail) in gallery.kinds.iter().zip(&gallery.details) {
            let seed = kind.first().record.start.seed;
            let _ = writeln!(out, "<div class=\"column\"><h4>{}, seed {seed}</h4>", escape(&kind.name));
            for task in 1..=tasks {
                let shown = task == tasks;
                let frame = detail.frames.get(task - 1);
                match frame.and_then(|frame| frame.iter().find(|(other, _)| *other == aspect)) {
                    Some((_, drawn)) => out.push_str(&figure(drawn, Some((task, shown)))),
                    None => {
                        let _ = writeln!(
                            out,
                            "<p class=\"faint\" data-task=\"{task}\"{}>{}</p>",
                            hidden(shown),
                            missing(frame.is_some(), aspect, task, kind)
                        );
                    }
                }
            }
            out.push_str("</div>\n");
        }
        out.push_str("</div></section>\n");
    }
    if tasks > 0 && gallery.kinds.iter().any(|kind| kind.first().scatters.iter().any(Option::is_none)) {
        out.push_str(
            "<p class=\"note\">Some runs kept no features: they were made by an early version. Their feature plots are \
             left out; a new run of the same recipe has them.</p>\n",
        );
    }
    out
}

/// Why there is no figure.
fn missing(finished: bool, aspect: Aspect, task: usize, kind: &Kind<'_>) -> String {
    let run = kind.first();
    match finished {
        false => format!("Task {task} is not finished."),
        true if aspect == Aspect::Reliability => {
            "This run kept no probabilities: it was made by an early version.".to_owned()
        }
        true if run.scatters[task - 1].is_none() => "This run kept no features.".to_owned(),
        true if aspect == Aspect::Unseen && run.run.unseen(task).is_empty() => {
            format!("After task {task}, the last, nothing is still to come.")
        }
        true => "There are too few features to draw, or all are the same.".to_owned(),
    }
}

fn hidden(shown: bool) -> &'static str {
    if shown { "" } else { " hidden" }
}

/// Figures of whole runs.
fn whole(gallery: &Gallery<'_>) -> String {
    // The closed form has no losses.
    let figures = || gallery.details.iter().flat_map(|detail| &detail.whole);
    let heading = match figures().any(|drawn| !drawn.name.ends_with("-times")) {
        true => "Losses and times",
        false => "Times",
    };
    let mut out = format!("<h2>{heading}</h2>\n<div class=\"columns\">");
    for (kind, detail) in gallery.kinds.iter().zip(&gallery.details) {
        let seed = kind.first().record.start.seed;
        let figures: String = detail.whole.iter().map(|drawn| figure(drawn, None)).collect();
        let _ = writeln!(out, "<div class=\"column\"><h3>{}, seed {seed}</h3>{figures}</div>", escape(&kind.name));
    }
    out + "</div>"
}

/// Few photos.
fn few(drawn: &Figure) -> String {
    format!("<section id=\"few\"><h2>Few photos</h2>\n{}</section>\n", figure(drawn, None))
}

fn recipe(kind: &Kind<'_>) -> String {
    let start = &kind.first().record.start;
    format!(
        "<details><summary>Recipe of {}</summary><pre tabindex=\"0\">{}</pre></details>\n",
        escape(&kind.name),
        escape(&start.recipe)
    )
}

/// A figure with what saves it and its numbers; `frame` is its task, and whether it is shown at first.
fn figure(figure: &Figure, frame: Option<(usize, bool)>) -> String {
    let name = &figure.name;
    let task = frame.map(|(task, shown)| format!(" data-task=\"{task}\"{}", hidden(shown))).unwrap_or_default();
    let title = escape(&figure.title);
    // How to read the figures of a task stands once above them.
    let about = if frame.is_some() { String::new() } else { format!(" {}", escape(&figure.about)) };
    let tools: String = [("svg", "SVG"), ("png", "PNG"), ("csv", "CSV")]
        .iter()
        .map(|(kind, label)| {
            format!(
                "<button type=\"button\" data-save=\"{kind}\" aria-label=\"Save {title} as {label}\">{label}</button>"
            )
        })
        .collect();
    format!(
        "<figure data-name=\"{name}\"{task}>\n<figcaption><b>{title}</b>{about}</figcaption>\n{}\n\
         <div class=\"tools\">{tools}</div>\n<details><summary>Numbers<span class=\"away\"> of {title}</span></summary>\
         {}</details>\n</figure>\n",
        figure.inline(),
        html(&figure.table)
    )
}

/// A table that scrolls by itself. Cells and rows need no end in HTML.
fn html(table: &Table) -> String {
    let mut out = String::from("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
    for cell in &table.head {
        let _ = write!(out, "<th scope=\"col\">{}", escape(cell));
    }
    out.push_str("</thead><tbody>");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td>{}", escape(cell));
        }
    }
    out.push_str("</tbody></table></div>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::runs::testing::read_run;

    #[test]
    fn what_is_filled_in_is_not_looked_at_again() {
        assert_eq!(fill("a {{X}} b {{Y}}", &[("X", "{{Y}}"), ("Y", "2")]), "a {{Y}} b 2");
    }

    /// Names of classes come from users: they must not end the script, open a tag or leave an attribute.
    #[test]
    fn hostile_names_stay_text() {
        let hostile = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{DATA}}";
        let mut run = read_run(hostile, 1, "x = \"</pre><script>\"", &[[0, 0, 1, 1, 0, 1, 0, 1]]);
        run.record.start.classes[1] = hostile.to_owned();
        run.record.start.oracle = Some(hostile.to_owned());
        let runs = [run];
        let page = page(&Gallery::new(&runs, &|| ()));
        assert_eq!(page.matches("<script").count(), 2, "the data and our own");
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<img"));
        assert!(page.contains("ORACLE, not a result: &lt;/script&gt;"));
    }

    #[test]
    fn a_page_says_what_is_no_result() {
        let mut run = read_run("tried", 1, "", &[[0; 8]]);
        run.record.start.validated = Some(0.1);
        let page = page(&Gallery::new(&[run], &|| ()));
        assert!(page.contains("<b>tried</b> – VALIDATION, not a result: 10 % of the training images"));
    }

    #[test]
    fn a_run_of_an_early_version_says_what_is_left_out() {
        let page = page(&Gallery::new(&[read_run("old", 1, "", &[[0; 8]])], &|| ()));
        assert!(page.contains("kept no features"));
        assert!(page.contains("Who is taken for whom"), "what can be drawn is");
    }

    #[test]
    fn nothing_finished_is_no_panic() {
        let page = page(&Gallery::new(&[read_run("begun", 1, "", &[])], &|| ()));
        assert!(page.contains("no task is finished yet"));
    }

    /// 50 classes in 25+5x5, 50 test images each, answers at random so that every cell is taken, 1,000 features and as many
    /// ghosts a task.
    fn large_run() -> crate::report::ReadRun {
        use crate::class::Slot;
        use crate::evaluation::{Answers, Best, Points, Scatter};
        use crate::experiment::record::{Epoch, Evaluation, Line};
        use rand::RngExt;
        let mut stream = crate::seeds::Seeds::new(1).stream("large", 0);
        let mut run = read_run("large", 1, "", &[]);
        let start = &mut run.record.start;
        start.classes = (0..50).map(|class| format!("a class called {class}")).collect();
        start.tasks = vec![25, 5, 5, 5, 5, 5];
        let truth: Vec<Slot> = (0..2_500).map(|image| Slot(image / 50)).collect();
        for task in 1..=6 {
            let slots = (0..2_500).map(|_| Slot(stream.random_range(0..50))).collect();
            let seen = Best { slots, scores: vec![0.5; 2_500] };
            let answers = Answers { truth: truth.clone(), seen, ..Default::default() };
            for epoch in 1..=90 {
                let terms = ["nca-ghost", "pod", "pod-flat", "svm-reg"].map(|term| (term.to_owned(), 0.123_456_789));
                let terms = terms.into_iter().collect();
                run.record.lines.push(Line::Epoch(Epoch { task, stage: "train".to_owned(), epoch, lr: 0.1, terms }));
            }
            run.record.lines.push(Line::Evaluation(Evaluation { task, confusion: answers.confusion(50), answers }));
            let mut points = |of_class: u32| Points {
                slots: (0..50 * of_class).map(|row| Slot(row / of_class)).collect(),
                values: (0..50 * of_class as usize * 8).map(|_| stream.random_range(-1.0..1.0)).collect(),
            };
            let (real, ghosts) = (points(20), points(20));
            let images = (0..1_000).map(|row| 50 * (row / 20) + row % 20).collect();
            run.scatters.push(Some(Scatter { width: 8, real, images, ghosts, ..Default::default() }));
            run.spent.push(None);
        }
        run.run = run.record.run();
        run
    }

    #[test]
    fn fifty_classes_in_six_tasks_stay_under_5_mb() {
        let runs = [large_run()];
        let page = page(&Gallery::new(&runs, &|| ()));
        assert!(page.len() < 5_000_000, "{} bytes", page.len());
        assert_eq!(page.matches("data-ghost=").count(), 6 * 1_000, "all ghosts are drawn");
    }

    #[test]
    fn headlines_are_the_metrics() {
        let run = read_run("base", 1, "", &[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0]]);
        let page = page(&Gallery::new(&[run], &|| ()));
        // (50 + 62.5) / 2, and 62.5 after the last finished task.
        assert!(page.contains("<dd data-metric=\"continual\">56.2 %</dd>"), "a mean over tasks");
        assert!(page.contains("<dd data-metric=\"final\">62.5 %</dd>"));
    }
}
