//! The feature space itself, where features are points of a plane: the paper's pictures of MNIST.
//!
//! The classifier sees directions, so a proxy is a ray. A class that has not come is a dashed circle around its ghosts:
//! the zone that is kept free for it.

use crate::class::Slot;
use crate::evaluation::Scatter;
use crate::report::figure::confusion::short;
use crate::report::figure::svg::{Anchor, Svg};
use crate::report::figure::theme::HUES;
use crate::report::figure::{Figure, Table, file_name, percent};
use crate::report::runs::{Kind, ReadRun, Time};
use std::collections::BTreeMap;
use std::f64::consts::TAU;

const SIDE: f64 = 440.0;
/// Around the disc, for names.
const RIM: f64 = 36.0;
const LEGEND: f64 = 26.0;
/// So many of the points lie on the disc; the rest is drawn at its edge.
const WITHIN: f64 = 0.98;

/// The features of task `task`, from 1, where they are points of a plane.
fn plane(run: &ReadRun, task: usize) -> Option<&Scatter> {
    run.scatters[task - 1].as_ref().filter(|scatter| scatter.width == 2)
}

/// The space after task `task`, from 1, of the run called `name`.
pub(in crate::report) fn space(name: &str, run: &ReadRun, task: usize) -> Option<Figure> {
    let scatter = plane(run, task)?;
    let mut svg = Svg::new(SIDE, SIDE + LEGEND);
    svg.place(&disc(run, task, scatter), (0.0, 0.0));
    legend(&mut svg, SIDE + 14.0, !scatter.zones.is_empty());
    Some(Figure {
        name: format!("{}-task-{task}-space", file_name(name)),
        title: format!("Feature space after task {task}"),
        about: "Each point is a test image where the network puts it; rays are the proxies' directions; dashed circles are \
                the zones of classes that have not come, a mean of ghosts and their spread around it. An image is \
                answered with the ray nearest in direction. The 2 % furthest out are drawn at the rim."
            .to_owned(),
        alt: alt(run, task, scatter),
        table: table(run, task, scatter),
        svg,
    })
}

/// All tasks beside each other, a row for each of `kinds`: the paper's figure.
pub(in crate::report) fn strip(kinds: &[Kind<'_>]) -> Option<Figure> {
    const HEAD: f64 = 34.0;
    let rows: Vec<&Kind<'_>> =
        kinds.iter().filter(|kind| kind.finished() > 0 && plane(kind.first(), 1).is_some()).collect();
    let tasks = rows.iter().map(|kind| kind.first().finished()).max()?;
    let mut svg = Svg::new(SIDE * tasks as f64, (SIDE + HEAD) * rows.len() as f64 + LEGEND + 6.0);
    let mut table = Table::new(&["run", "task", "accuracy %"]);
    let mut zones = false;
    for (row, kind) in rows.iter().enumerate() {
        let top = row as f64 * (SIDE + HEAD);
        let run = kind.first();
        for task in 1..=run.finished() {
            let Some(scatter) = plane(run, task) else { continue };
            let left = (task - 1) as f64 * SIDE;
            let accuracy = run.value("accuracy", task).unwrap_or(0.0);
            let head = format!("{}, after task {task}: {}", kind.name, percent(accuracy));
            svg.turned((left + SIDE / 2.0, top + 22.0), Anchor::Middle, 0.0, 17.0, &head);
            svg.place(&disc(run, task, scatter), (left, top + HEAD));
            zones |= !scatter.zones.is_empty();
            table.rows.push(vec![kind.name.clone(), task.to_string(), crate::report::figure::cell(Some(accuracy))]);
        }
    }
    let (width, ground) = (svg.width, svg.height - 14.0);
    let mut words = Svg::new(SIDE, LEGEND);
    legend(&mut words, 0.0, zones);
    svg.place(&words, ((width - SIDE) / 2.0, ground));
    let names: Vec<&str> = rows.iter().map(|kind| kind.name.as_str()).collect();
    Some(Figure {
        name: "space".to_owned(),
        title: "Feature space, task by task".to_owned(),
        about: "Accuracy is over all classes, those that have not come included.".to_owned(),
        alt: format!("The plane of features after each of {tasks} tasks: {}.", names.join(", ")),
        table,
        svg,
    })
}

/// A place in the drawing.
type Place = (f64, f64);

/// From features to places on the disc.
struct Disc {
    middle: f64,
    radius: f64,
    /// Of features.
    reach: f64,
}

impl Disc {
    fn new(scatter: &Scatter) -> Self {
        let mut lengths: Vec<f64> = scatter.real.rows(2).map(|(_, row)| length(row)).collect();
        lengths.sort_by(f64::total_cmp);
        let place = (WITHIN * lengths.len() as f64) as usize;
        let most = lengths.get(place.min(lengths.len().saturating_sub(1))).copied().unwrap_or(1.0);
        let zones = scatter.zones.iter().map(|zone| length(&zone.centre) + f64::from(zone.spread));
        let reach = zones.fold(most, f64::max).max(1e-9);
        Self { middle: SIDE / 2.0, radius: SIDE / 2.0 - RIM, reach }
    }

    fn place(&self, point: &[f32]) -> Place {
        let scale = self.radius / self.reach.max(length(point));
        (self.middle + f64::from(point[0]) * scale, self.middle - f64::from(point[1]) * scale)
    }

    fn at_angle(&self, angle: f64, radius: f64) -> Place {
        (self.middle + radius * angle.cos(), self.middle - radius * angle.sin())
    }
}

fn length(point: &[f32]) -> f64 {
    f64::from(point[0]).hypot(f64::from(point[1]))
}

fn disc(run: &ReadRun, task: usize, scatter: &Scatter) -> Svg {
    let disc = Disc::new(scatter);
    let mut svg = Svg::new(SIDE, SIDE);
    svg.circle("rule", (disc.middle, disc.middle), disc.radius);
    rays(&mut svg, &disc, run, task, scatter);
    points(&mut svg, &disc, run, task, scatter);
    for zone in &scatter.zones {
        let name = &run.record.start.classes[zone.slot.index()];
        let radius = f64::from(zone.spread) / disc.reach * disc.radius;
        let (x, y) = disc.place(&zone.centre);
        svg.dot("zone", (x, y), radius, &format!("kept free for {name}"));
        // On the outer side, for zones meet in the middle.
        let angle = f64::from(zone.centre[1]).atan2(f64::from(zone.centre[0]));
        let edge = (x + radius * angle.cos(), y - radius * angle.sin() + 4.0);
        svg.text("small strong halo", edge, Anchor::Middle, &short(name));
    }
    names(&mut svg, &disc, run, task, scatter);
    svg
}

/// Future first, so that what is known lies on top.
fn points(svg: &mut Svg, disc: &Disc, run: &ReadRun, task: usize, scatter: &Scatter) {
    let mut by_class: BTreeMap<Slot, Vec<(usize, Place)>> = BTreeMap::new();
    for (index, (slot, row)) in scatter.real.rows(2).enumerate() {
        by_class.entry(slot).or_default().push((index, disc.place(row)));
    }
    for time in [Time::Future, Time::Past, Time::Present] {
        for (slot, places) in by_class.iter().filter(|(slot, _)| run.time(slot.index(), task) == time) {
            let paint = if time == Time::Future { "s" } else { "f" };
            svg.open(&format!("class=\"{paint}{} {}\"", slot.index() % HUES, time.name()));
            for (index, (x, y)) in places {
                let [x, y] = [*x, *y].map(crate::report::figure::svg::number);
                svg.body.push_str(&format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"2.7\" data-point=\"{index}\"/>"));
            }
            svg.close();
        }
    }
}

fn rays(svg: &mut Svg, disc: &Disc, run: &ReadRun, task: usize, scatter: &Scatter) {
    for (slot, angle) in angles(scatter) {
        let style = match run.time(slot.index(), task) {
            Time::Past => "",
            Time::Present => " now",
            Time::Future => " dashed",
        };
        let class = format!("ray s{}{style}", slot.index() % HUES);
        svg.line(&class, (disc.middle, disc.middle), disc.at_angle(angle, disc.radius));
    }
}

fn angles(scatter: &Scatter) -> Vec<(Slot, f64)> {
    scatter.proxies.rows(2).map(|(slot, row)| (slot, f64::from(row[1]).atan2(f64::from(row[0])))).collect()
}

/// Names at the rim, moved apart where rays are close; a class without a ray is named at the middle of its images.
fn names(svg: &mut Svg, disc: &Disc, run: &ReadRun, task: usize, scatter: &Scatter) {
    let classes = &run.record.start.classes;
    let mut rim = angles(scatter);
    rim.sort_by(|a, b| a.1.total_cmp(&b.1));
    let wanted: Vec<f64> = rim.iter().map(|(_, angle)| *angle).collect();
    let moved = apart(&wanted, 16.0 / (disc.radius + 14.0));
    for ((slot, angle), place) in rim.iter().zip(moved) {
        let time = run.time(slot.index(), task);
        let hue = slot.index() % HUES;
        let (x, y) = disc.at_angle(place, disc.radius + 15.0);
        svg.line(
            &format!("s{hue} thin l"),
            disc.at_angle(*angle, disc.radius),
            disc.at_angle(place, disc.radius + 6.0),
        );
        let name = short(&classes[slot.index()]);
        let name = if time == Time::Future { format!("({name})") } else { name };
        let weight = if time == Time::Present { " strong" } else { "" };
        let anchor = match place.cos() {
            cosine if cosine > 0.4 => Anchor::Start,
            cosine if cosine < -0.4 => Anchor::End,
            _ => Anchor::Middle,
        };
        let x = match anchor {
            Anchor::Start => x - 6.0,
            Anchor::End => x + 6.0,
            Anchor::Middle => x,
        };
        svg.text(&format!("halo f{hue}{weight}"), (x, y + 4.0), anchor, &name);
    }
    let named: Vec<Slot> = rim.iter().map(|(slot, _)| *slot).collect();
    let mut middles: BTreeMap<Slot, (f64, f64, f64)> = BTreeMap::new();
    for (slot, row) in scatter.real.rows(2).filter(|(slot, _)| !named.contains(slot)) {
        let (x, y) = disc.place(row);
        let sum = middles.entry(slot).or_default();
        *sum = (sum.0 + x, sum.1 + y, sum.2 + 1.0);
    }
    for (slot, (x, y, count)) in middles {
        let name = format!("({})", short(&classes[slot.index()]));
        svg.text(&format!("halo f{}", slot.index() % HUES), (x / count, y / count + 4.0), Anchor::Middle, &name);
    }
}

/// Rising angles moved as little as it takes to lie `gap` apart around the circle.
fn apart(angles: &[f64], gap: f64) -> Vec<f64> {
    let count = angles.len();
    let gap = if count > 1 { gap.min(0.95 * TAU / count as f64) } else { return angles.to_vec() };
    let mut moved = angles.to_vec();
    for _ in 0..200 {
        for place in 0..count {
            let next = (place + 1) % count;
            let around = if next == 0 { TAU } else { 0.0 };
            let missing = gap - (moved[next] + around - moved[place]);
            if missing > 0.0 {
                moved[place] -= missing / 2.0;
                moved[next] += missing / 2.0;
            }
        }
    }
    moved
}

fn legend(svg: &mut Svg, y: f64, zones: bool) {
    let ink = "f8 s8";
    let mut x = 8.0;
    let word = |svg: &mut Svg, x: &mut f64, word: &str| {
        svg.text("small", (*x + 8.0, y + 4.0), Anchor::Start, word);
        *x += 8.0 + crate::report::figure::svg::wide(word, 10.5) + 16.0;
    };
    for (time, said) in [(Time::Past, "past"), (Time::Present, "present"), (Time::Future, "not yet come")] {
        let paint = if time == Time::Future { "s8" } else { "f8" };
        svg.circle(&format!("{paint} {}", time.name()), (x, y), 4.0);
        word(svg, &mut x, said);
    }
    svg.line(&format!("ray {ink}"), (x - 4.0, y), (x + 12.0, y));
    x += 10.0;
    word(svg, &mut x, "proxy");
    if zones {
        svg.circle("zone", (x + 2.0, y), 6.5);
        x += 6.0;
        word(svg, &mut x, "zone kept free");
    }
}

fn alt(run: &ReadRun, task: usize, scatter: &Scatter) -> String {
    let kept: Vec<&str> =
        scatter.zones.iter().map(|zone| run.record.start.classes[zone.slot.index()].as_str()).collect();
    let zones = match kept.as_slice() {
        [] => "no zone is kept free".to_owned(),
        kept => format!("zones are kept free for {}", kept.join(", ")),
    };
    let accuracy = percent(run.value("accuracy", task).unwrap_or(0.0));
    format!(
        "The plane of features after task {task}: {} test images, {} proxies, {zones}; {accuracy} are answered right.",
        scatter.real.len(),
        scatter.proxies.len()
    )
}

fn table(run: &ReadRun, task: usize, scatter: &Scatter) -> Table {
    let mut table = Table::new(&["class", "when", "what", "x", "y", "spread"]);
    let class = |slot: Slot| run.record.start.classes[slot.index()].clone();
    let mut add = |slot: Slot, what: &str, at: &[f32], spread: String| {
        let when = run.time(slot.index(), task).name().to_owned();
        table.rows.push(vec![class(slot), when, what.to_owned(), at[0].to_string(), at[1].to_string(), spread]);
    };
    for (slot, row) in scatter.proxies.rows(2) {
        add(slot, "proxy", row, String::new());
    }
    for zone in &scatter.zones {
        add(zone.slot, "zone", &zone.centre, zone.spread.to_string());
    }
    for (slot, row) in scatter.real.rows(2) {
        add(slot, "test image", row, String::new());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::{Points, Zone};
    use crate::report::runs::testing::read_run;
    use std::f64::consts::PI;

    /// The angle from one direction to another, the short way round.
    fn between(a: f64, b: f64) -> f64 {
        ((b - a + PI).rem_euclid(TAU) - PI).abs()
    }

    fn scatter() -> Scatter {
        Scatter {
            width: 2,
            real: Points {
                slots: [0, 1, 2, 3].map(Slot).to_vec(),
                values: vec![2.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0],
            },
            images: vec![0, 2, 4, 6],
            ghosts: Points::default(),
            proxies: Points { slots: [0, 1].map(Slot).to_vec(), values: vec![3.0, 0.0, 0.0, 0.5] },
            zones: vec![Zone { slot: Slot(3), centre: [0.0, -1.0], spread: 0.5 }],
        }
    }

    /// The max_norm feature, 2, lies on the rim: 220 − 36 = 184 from the middle at 220.
    #[test]
    fn points_rays_and_zones_by_hand() {
        let mut run = read_run("ghost", 1, "", &[[0, 0, 1, 1, 0, 1, 0, 1]]);
        run.scatters[0] = Some(scatter());
        let figure = space("ghost", &run, 1).expect("a plane");
        let body = &figure.svg.body;
        assert!(body.contains("<circle cx=\"404\" cy=\"220\" r=\"2.7\" data-point=\"0\"/>"));
        assert!(body.contains("<circle cx=\"220\" cy=\"128\" r=\"2.7\" data-point=\"1\"/>"), "up is up");
        // Its edge is 92 and 46 below the middle, and its name stands centred on that.
        assert!(body.contains("<text class=\"small strong halo\" x=\"220\" y=\"362\""), "on the outer side");
        assert!(body.contains("<line class=\"ray s0 now\" x1=\"220\" y1=\"220\" x2=\"404\" y2=\"220\"/>"));
        assert!(
            body.contains("<circle class=\"zone\" cx=\"220\" cy=\"312\" r=\"46\" data-tip=\"kept free for dog\"/>")
        );
        assert!(body.contains("class=\"s3 future\"") && body.contains("class=\"f0 present\""));
        assert!(figure.alt.contains("zones are kept free for dog"));
        assert_eq!(figure.table.rows.len(), 2 + 1 + 4);
    }

    #[test]
    fn features_of_more_numbers_are_no_plane() {
        let mut run = read_run("ghost", 1, "", &[[0; 8]]);
        run.scatters[0] = Some(Scatter { width: 3, ..Default::default() });
        assert!(space("ghost", &run, 1).is_none());
        assert!(strip(&Kind::among(&[run])).is_none());
    }

    #[test]
    fn names_that_would_meet_are_moved_apart() {
        let moved = apart(&[-3.1, 0.0, 0.01, 0.02, 3.1], 0.1);
        for place in 0..5 {
            assert!(between(moved[place], moved[(place + 1) % 5]) > 0.095, "{moved:?}");
        }
        assert_eq!(apart(&[0.0, 1.0], 0.1), [0.0, 1.0], "what is apart stays");
    }
}
