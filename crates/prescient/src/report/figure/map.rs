//! Real features against ghosts, for seen and for unseen classes: t-SNE, as in the paper's supplement.

use crate::class::{Slot, Slots};
use crate::report::figure::confusion::short;
use crate::report::figure::scale::Scale;
use crate::report::figure::svg::{Anchor, Svg, wide};
use crate::report::figure::theme::HUES;
use crate::report::figure::{Figure, Table, file_name};
use crate::report::runs::ReadRun;
use crate::report::tsne;
use crate::seeds::Seeds;
use std::collections::BTreeMap;

const SIDE: f64 = 420.0;
const TOP: f64 = 24.0;
const EDGE: f64 = 14.0;

/// The maps after task `task`, from 1, of the run called `name`: of seen and of unseen classes. None where no features
/// were kept, or too few.
pub(in crate::report) fn maps(name: &str, run: &ReadRun, task: usize) -> Vec<Figure> {
    let kinds = [("seen", run.run.seen(task)), ("unseen", run.run.unseen(task))];
    kinds.into_iter().filter_map(|(kind, slots)| one(name, run, task, kind, slots)).collect()
}

/// A feature on the map.
struct Placed {
    slot: Slot,
    /// Which of the kept test images it is; a ghost is none.
    image: Option<usize>,
    at: [f64; 2],
}

fn placed(run: &ReadRun, task: usize, kind: &str, slots: Slots) -> Option<Vec<Placed>> {
    let scatter = run.scatters[task - 1].as_ref()?;
    let width = scatter.width;
    let real = scatter.real.rows(width).enumerate().map(|(image, (slot, row))| (slot, Some(image), row));
    let ghosts = scatter.ghosts.rows(width).map(|(slot, row)| (slot, None, row));
    let wanted: Vec<_> = real.chain(ghosts).filter(|(slot, _, _)| slots.contains(*slot)).collect();
    let rows: Vec<f32> = wanted.iter().flat_map(|(_, _, row)| row.iter().copied()).collect();
    let seeds = Seeds::new(u64::from(run.record.start.seed)).child("t-sne", task);
    let places = tsne::embed(&rows, width, seeds.stream(kind, 0))?;
    Some(wanted.into_iter().zip(places).map(|((slot, image, _), at)| Placed { slot, image, at }).collect())
}

fn one(name: &str, run: &ReadRun, task: usize, kind: &str, slots: Slots) -> Option<Figure> {
    let placed = placed(run, task, kind, slots)?;
    let mut svg = Svg::new(SIDE, SIDE + TOP);
    let (x, y) = scales(&placed);
    let at = |place: &Placed| (x.place(place.at[0]), y.place(place.at[1]));
    let (real, ghosts): (Vec<&Placed>, Vec<&Placed>) = placed.iter().partition(|place| place.image.is_some());
    for (class, of_class) in by_class(&ghosts) {
        svg.open(&format!("class=\"s{} ghost\"", class.index() % HUES));
        for place in of_class {
            dot(&mut svg, at(place), 2.6, &format!("data-ghost=\"{}\"", class.0));
        }
        svg.close();
    }
    for (class, of_class) in by_class(&real) {
        svg.open(&format!("class=\"f{} real\"", class.index() % HUES));
        for place in of_class {
            dot(&mut svg, at(place), 2.6, &format!("data-point=\"{}\"", place.image.unwrap_or_default()));
        }
        svg.close();
    }
    name_classes(&mut svg, run, &real, &at);
    legend(&mut svg, !ghosts.is_empty());
    let mut table = Table::new(&["class", "feature", "x", "y"]);
    for place in &placed {
        let class = run.record.start.classes[place.slot.index()].clone();
        let what = if place.image.is_some() { "real" } else { "ghost" };
        table.rows.push(vec![class, what.to_owned(), format!("{:.2}", place.at[0]), format!("{:.2}", place.at[1])]);
    }
    let says =
        format!("{} features of test images and {} ghosts of {} {kind} classes", real.len(), ghosts.len(), slots.len());
    Some(Figure {
        name: format!("{}-task-{task}-map-{kind}", file_name(name)),
        title: format!("Features of {kind} classes after task {task}"),
        about: "t-SNE of features by direction. Filled: test images, open: ghosts; each class has a colour. Good ghosts lie \
                among the images of their class. Distances between far points say nothing."
            .to_owned(),
        alt: format!("t-SNE map after task {task}: {says}."),
        table,
        svg,
    })
}

fn dot(svg: &mut Svg, (x, y): (f64, f64), radius: f64, data: &str) {
    let [x, y, radius] = [x, y, radius].map(crate::report::figure::svg::number);
    svg.body.push_str(&format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" {data}/>"));
}

fn by_class<'a>(places: &[&'a Placed]) -> BTreeMap<Slot, Vec<&'a Placed>> {
    places.iter().fold(BTreeMap::new(), |mut classes: BTreeMap<Slot, Vec<&Placed>>, place| {
        classes.entry(place.slot).or_default().push(place);
        classes
    })
}

/// The same on both axes, all points within.
fn scales(placed: &[Placed]) -> (Scale, Scale) {
    let range = |axis: usize| {
        let values = || placed.iter().map(|place| place.at[axis]);
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((left, right), (low, high)) = (range(0), range(1));
    let half = ((right - left).max(high - low) / 2.0).max(1e-9);
    let around = |(from, to): (f64, f64)| ((from + to) / 2.0 - half, (from + to) / 2.0 + half);
    let x = Scale::new(around((left, right)), (EDGE, SIDE - EDGE));
    let y = Scale::new(around((low, high)), (TOP + SIDE - EDGE, TOP + EDGE));
    (x, y)
}

/// A name at the middle of each class's images, unless another name is there already.
fn name_classes(svg: &mut Svg, run: &ReadRun, real: &[&Placed], at: &impl Fn(&Placed) -> (f64, f64)) {
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    for (class, places) in by_class(real) {
        let count = places.len() as f64;
        let sum = places.iter().map(|place| at(place)).fold((0.0, 0.0), |sum, at| (sum.0 + at.0, sum.1 + at.1));
        let name = short(&run.record.start.classes[class.index()]);
        let half = wide(&name, 11.0) / 2.0;
        let (x, y) = ((sum.0 / count).clamp(half + 2.0, SIDE - half - 2.0), sum.1 / count);
        let meets = |other: &(f64, f64, f64)| (other.1 - y).abs() < 12.0 && (other.0 - x).abs() < half + other.2;
        if !taken.iter().any(meets) {
            svg.text("small strong halo", (x, y + 4.0), Anchor::Middle, &name);
            taken.push((x, y, half));
        }
    }
}

fn legend(svg: &mut Svg, ghosts: bool) {
    svg.circle("f8 real", (18.0, 13.0), 4.0);
    svg.text("small", (27.0, 17.0), Anchor::Start, "test image");
    if ghosts {
        svg.circle("s8 ghost", (108.0, 13.0), 4.0);
        svg.text("small", (117.0, 17.0), Anchor::Start, "ghost");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::{Points, Scatter};
    use crate::report::runs::testing::read_run;

    fn points(slots: impl Iterator<Item = u32>) -> Points {
        let slots: Vec<Slot> = slots.map(Slot).collect();
        let values = slots.iter().enumerate().flat_map(|(i, slot)| [slot.0 as f32, 1.0, 0.01 * i as f32]).collect();
        Points { slots, values }
    }

    #[test]
    fn every_kept_feature_is_on_the_map_of_its_kind() {
        let mut run = read_run("ghost", 1, "", &[[0; 8]]);
        run.scatters[0] = Some(Scatter {
            width: 3,
            real: points((0..40).map(|i| i % 4)),
            images: (0..40).map(|i| i % 8).collect(),
            ghosts: points((0..20).map(|i| 2 + i % 2)),
            ..Default::default()
        });
        let figures = maps("ghost", &run, 1);
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["ghost-task-1-map-seen", "ghost-task-1-map-unseen"]);
        let count = |figure: &Figure, what: &str| figure.table.rows.iter().filter(|row| row[1] == what).count();
        assert_eq!((count(&figures[0], "real"), count(&figures[0], "ghost")), (20, 0));
        assert_eq!((count(&figures[1], "real"), count(&figures[1], "ghost")), (20, 20));
        assert_eq!(figures[1].svg.body.matches("data-ghost").count(), 20);
        assert_eq!(figures[1].to_svg(), maps("ghost", &run, 1)[1].to_svg(), "the same every time");
    }

    #[test]
    fn a_run_without_features_has_no_map() {
        assert!(maps("old", &read_run("old", 1, "", &[[0; 8]]), 1).is_empty());
    }
}
