//! `features.safetensors`: a few features of each class after a task, for figures. A run of an early version has none.

use crate::class::Slot;
use crate::error::RunError;
use crate::evaluation::{Points, Scatter, Zone};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::BTreeMap;
use std::path::Path;

/// The file's bytes.
pub(super) fn to_bytes(scatter: &Scatter) -> Vec<u8> {
    let mut tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)> = BTreeMap::new();
    for (name, points) in
        [("real", &scatter.real), ("ghosts", &scatter.ghosts), ("proxies", &scatter.proxies)].into_iter()
    {
        let shape = vec![points.len(), scatter.width];
        tensors.insert(name.to_owned(), (Dtype::F32, shape, floats(points.values.iter().copied())));
        tensors.insert(format!("{name}.slots"), slots(points.slots.iter().copied()));
    }
    let images = scatter.images.iter().flat_map(|image| image.to_le_bytes()).collect();
    tensors.insert("real.images".to_owned(), (Dtype::U32, vec![scatter.images.len()], images));
    let circles = scatter.zones.iter().flat_map(|zone| [zone.centre[0], zone.centre[1], zone.spread]);
    tensors.insert("zones".to_owned(), (Dtype::F32, vec![scatter.zones.len(), 3], floats(circles)));
    tensors.insert("zones.slots".to_owned(), slots(scatter.zones.iter().map(|zone| zone.slot)));
    let views = tensors.iter().map(|(name, (dtype, shape, data))| {
        (name, TensorView::new(*dtype, shape.clone(), data).expect("bytes of this very shape"))
    });
    safetensors::serialize(views.collect::<BTreeMap<_, _>>(), None).expect("tensors that were just viewed")
}

fn floats(values: impl Iterator<Item = f32>) -> Vec<u8> {
    values.flat_map(f32::to_le_bytes).collect()
}

fn slots(slots: impl Iterator<Item = Slot>) -> (Dtype, Vec<usize>, Vec<u8>) {
    let slots: Vec<u32> = slots.map(|slot| slot.0).collect();
    // In two bytes where they fit, as all early runs have them.
    match slots.iter().map(|&slot| u16::try_from(slot)).collect::<Result<Vec<u16>, _>>() {
        Ok(short) => (Dtype::U16, vec![slots.len()], short.into_iter().flat_map(u16::to_le_bytes).collect()),
        Err(_) => (Dtype::U32, vec![slots.len()], slots.into_iter().flat_map(u32::to_le_bytes).collect()),
    }
}

/// Reads the file's bytes; `path` is named in errors. `classes` and `images` are how many the record has.
pub(super) fn parse(bytes: &[u8], path: &Path, classes: usize, images: usize) -> Result<Scatter, RunError> {
    let damaged = |reason: String| RunError::Damaged { path: path.to_owned(), line: None, reason };
    let file = SafeTensors::deserialize(bytes).map_err(|error| damaged(error.to_string()))?;
    let tensor = |name: &str, dtype: Dtype| -> Result<(Vec<usize>, &[u8]), RunError> {
        let view = file.tensor(name).map_err(|_| damaged(format!("expected the tensor `{name}`, found none")))?;
        match view.dtype() == dtype {
            true => Ok((view.shape().to_vec(), view.data())),
            false => Err(damaged(format!("`{name}`: expected {dtype:?}, found {:?}", view.dtype()))),
        }
    };
    let floats = |name: &str| tensor(name, Dtype::F32).map(|(shape, data)| (shape, numbers(data, f32::from_le_bytes)));
    let slots = |name: &str| -> Result<Vec<Slot>, RunError> {
        Ok(match tensor(name, Dtype::U32) {
            Ok((_, data)) => numbers(data, u32::from_le_bytes).into_iter().map(Slot).collect(),
            Err(_) => {
                let (_, data) = tensor(name, Dtype::U16)?;
                numbers(data, u16::from_le_bytes).into_iter().map(|slot| Slot(u32::from(slot))).collect()
            }
        })
    };
    let points = |name: &str| -> Result<Points, RunError> {
        Ok(Points { slots: slots(&format!("{name}.slots"))?, values: floats(name)?.1 })
    };
    let zone_slots: Vec<Slot> = slots("zones.slots")?;
    let circles = floats("zones")?.1;
    let circles = circles.chunks_exact(3).zip(zone_slots);
    let scatter = Scatter {
        width: floats("real")?.0.get(1).copied().unwrap_or(0),
        real: points("real")?,
        images: numbers(tensor("real.images", Dtype::U32)?.1, u32::from_le_bytes),
        ghosts: points("ghosts")?,
        proxies: points("proxies")?,
        zones: circles.map(|(circle, slot)| Zone { slot, centre: [circle[0], circle[1]], spread: circle[2] }).collect(),
    };
    match scatter.fault(classes, images) {
        None => Ok(scatter),
        Some(fault) => Err(damaged(fault.to_owned())),
    }
}

fn numbers<const N: usize, T>(bytes: &[u8], number: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter() -> Scatter {
        let points = |slots: &[u32], values: &[f32]| Points {
            slots: slots.iter().map(|slot| Slot(*slot)).collect(),
            values: values.to_vec(),
        };
        Scatter {
            width: 2,
            real: points(&[0, 1], &[1.0, -2.5, 0.25, 1e-6]),
            images: vec![3, 70_000],
            ghosts: points(&[2], &[0.5, 0.5]),
            proxies: points(&[], &[]),
            zones: vec![Zone { slot: Slot(2), centre: [0.5, -0.5], spread: 0.125 }],
        }
    }

    #[test]
    fn what_was_written_reads_back_as_itself() {
        let bytes = to_bytes(&scatter());
        assert_eq!(parse(&bytes, Path::new("f"), 3, 70_001).expect("our own bytes"), scatter());
        assert_eq!(bytes, to_bytes(&scatter()), "the same every time");
    }

    /// A slot beyond 65,535 needs four bytes.
    #[test]
    fn many_classes_read_back_too() {
        let far = Scatter { zones: vec![Zone { slot: Slot(70_000), centre: [0.0; 2], spread: 1.0 }], ..scatter() };
        assert_eq!(parse(&to_bytes(&far), Path::new("f"), 70_001, 70_001).expect("our own bytes"), far);
    }

    #[test]
    fn a_damaged_file_is_told_as_such() {
        let bytes = to_bytes(&scatter());
        let says =
            |bytes: &[u8], classes| parse(bytes, Path::new("f"), classes, 70_001).expect_err("damaged").to_string();
        assert!(says(&bytes[..bytes.len() - 1], 3).starts_with("`f`: "));
        assert_eq!(says(&bytes, 2), "`f`: a class is not one of the run");
        assert!(says(b"", 3).starts_with("`f`: "));
    }
}
