//! `look` against its formula, pixel by pixel, on a GPU and on a CPU.

use tch::{Device, Kind, Tensor};
use torch_shim::look;

const SIZE: usize = 4;

/// Images of four sizes, one after the other.
const SIZES: [(usize, usize); 4] = [(5, 6), (9, 3), (1, 7), (40, 23)];

fn byte(image: usize, channel: usize, y: usize, x: usize) -> u8 {
    ((image * 101 + channel * 57 + y * 31 + x * 13) % 256) as u8
}

/// Image, and left, top, width, height, shift right, shift down, mirrored: whole, cropped, enlarged, moved and mirrored.
const GLANCES: [(usize, [f32; 7]); 8] = [
    (0, [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 0.0]),
    (0, [0.0, 0.0, 5.0, 6.0, 1.0, -2.0, 1.0]),
    (1, [1.25, 0.5, 3.0, 2.0, 0.0, 0.0, 1.0]),
    (1, [0.0, 0.0, 9.0, 3.0, 0.0, 0.0, 0.0]),
    (2, [0.0, 2.0, 1.0, 1.5, 0.0, 0.0, 0.0]),
    (3, [0.0, 0.0, 40.0, 23.0, 0.0, 0.0, 1.0]),
    (3, [7.0, 3.0, 30.0, 20.0, -1.0, 1.0, 0.0]),
    (0, [2.0, 2.0, 1.5, 1.5, 0.0, 0.0, 0.0]),
];

/// How much of each pixel along one side goes into the one that comes from `from`: the triangle filter.
fn weights(start: f32, extent: f32, from: f32, pixels: usize) -> Vec<f32> {
    let scale = extent / SIZE as f32;
    let (center, reach) = (start + (from + 0.5) * scale, scale.max(1.0));
    let weights: Vec<f32> = (0..pixels).map(|at| (1.0 - (at as f32 + 0.5 - center).abs() / reach).max(0.0)).collect();
    let sum = weights.iter().sum::<f32>().max(1e-6);
    let inside = from >= 0.0 && from < SIZE as f32;
    weights.iter().map(|weight| if inside { weight / sum } else { 0.0 }).collect()
}

/// Windows of images of four sizes, in colour and grey, seen at 4 × 4.
pub(crate) fn is_the_triangle_filter(device: Device) {
    for channels in [3, 1] {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        for (image, (width, height)) in SIZES.into_iter().enumerate() {
            places.push([(bytes.len() / channels) as i64, width as i64, height as i64]);
            for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                bytes.extend((0..channels).map(|channel| byte(image, channel, y, x)));
            }
        }
        let places: Vec<[i64; 3]> = GLANCES.iter().map(|(image, _)| places[*image]).collect();
        let how: Vec<[f32; 7]> = GLANCES.iter().map(|(_, how)| *how).collect();
        let (slope, shift) = ([0.1f32, 0.2, 0.3], [1.0f32, 2.0, 3.0]);
        let there = |tensor: Tensor| tensor.to_device(device);
        let seen = look(
            &there(Tensor::from_slice(&bytes).reshape([-1, channels as i64])),
            &there(Tensor::from_slice(places.as_flattened()).reshape([-1, 3])),
            &there(Tensor::from_slice(how.as_flattened()).reshape([-1, 7])),
            (&there(Tensor::from_slice(&slope[..channels])), &there(Tensor::from_slice(&shift[..channels]))),
            SIZE as u32,
            Kind::Float,
        );
        assert_eq!(seen.size(), [GLANCES.len() as i64, channels as i64, SIZE as i64, SIZE as i64]);
        for (place, (image, how)) in GLANCES.iter().enumerate() {
            let (width, height) = SIZES[*image];
            for (channel, y, x) in
                (0..channels).flat_map(|c| (0..SIZE).flat_map(move |y| (0..SIZE).map(move |x| (c, y, x))))
            {
                let from_x = if how[6] == 1.0 { SIZE - 1 - x } else { x } as f32 - how[4];
                let across = weights(how[0], how[2], from_x, width);
                let down = weights(how[1], how[3], y as f32 - how[5], height);
                let mut value = 0.0;
                for (i, down) in down.iter().enumerate() {
                    for (j, across) in across.iter().enumerate() {
                        value += down * across * f32::from(byte(*image, channel, i, j));
                    }
                }
                let expected = f64::from(value * slope[channel] + shift[channel]);
                let found = seen.double_value(&[place as i64, channel as i64, y as i64, x as i64]);
                assert!(
                    (found - expected).abs() < 1e-3,
                    "glance {place}, channel {channel}, ({x}, {y}): {found} {expected}"
                );
            }
        }
    }
}
