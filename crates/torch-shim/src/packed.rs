//! Convolutions for looking on a CPU: weights laid out once as oneDNN wants them, bias and ReLU6 in the same pass.

use std::ffi::c_int;

use tch::{Kind, Tensor};

use crate::ShimError;
use crate::error::check;
use crate::ffi;

/// A convolution with its weights laid out for images of one size; others are taken too, more slowly.
#[derive(Debug)]
pub struct Packed {
    weight: Tensor,
    bias: Tensor,
    stride: i64,
    padding: i64,
    groups: i64,
}

impl Packed {
    /// For images like `x`. None where libtorch has no oneDNN, or where it takes other numbers than f32 on a CPU.
    ///
    /// # Panics
    /// If `x` or `weight` does not have four dimensions.
    pub fn new(
        x: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        (stride, padding, groups): (i64, i64, i64),
    ) -> Result<Option<Self>, ShimError> {
        assert!(x.dim() == 4 && weight.dim() == 4, "images and weights: {x:?}, {weight:?}");
        let plain = |tensor: &Tensor| tensor.kind() == Kind::Float && tensor.device() == tch::Device::Cpu;
        if ![x, weight, bias].into_iter().all(plain) {
            return Ok(None);
        }
        let (size, mut result) = (x.size(), std::ptr::null_mut());
        // SAFETY: `weight` is a live tensor, only borrowed; `size` has four numbers, and both outlive the call.
        check(unsafe {
            ffi::shim_pack_convolution(weight.as_ptr(), size.as_ptr(), stride, padding, groups, &mut result)
        })?;
        // SAFETY: on success `result` is null or a fresh `at::Tensor` from `new`, and nobody else owns it.
        let weight = (!result.is_null()).then(|| unsafe { Tensor::from_ptr(result) });
        Ok(weight.map(|weight| Self { weight, bias: bias.shallow_clone(), stride, padding, groups }))
    }

    /// The convolution of `x`, then ReLU6 if asked for; autograd knows nothing of it.
    pub fn forward(&self, x: &Tensor, relu6: bool) -> Result<Tensor, ShimError> {
        let mut result = std::ptr::null_mut();
        // SAFETY: all are live tensors, only borrowed; libtorch checks their sizes and kinds; `result` outlives the call.
        check(unsafe {
            ffi::shim_packed_convolution(
                x.as_ptr(),
                self.weight.as_ptr(),
                self.bias.as_ptr(),
                self.stride,
                self.padding,
                self.groups,
                c_int::from(relu6),
                &mut result,
            )
        })?;
        // SAFETY: on success `result` is a fresh `at::Tensor` from `new`, and nobody else owns it.
        Ok(unsafe { Tensor::from_ptr(result) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 1×1 convolution of two pixels by hand: 2·x + 1 is −1, 3, 9, and ReLU6 makes 0, 3, 6 of it.
    #[test]
    fn a_convolution_and_relu6_by_hand() {
        let x = Tensor::from_slice(&[-1.0f32, 1.0, 4.0]).view([1, 1, 1, 3]);
        let weight = Tensor::from_slice(&[2.0f32]).view([1, 1, 1, 1]);
        let bias = Tensor::from_slice(&[1.0f32]);
        let Some(packed) = Packed::new(&x, &weight, &bias, (1, 0, 1)).expect("no error") else { return };
        let numbers = |tensor: Tensor| Vec::<f32>::try_from(tensor.contiguous().view([-1])).expect("numbers");
        assert_eq!(numbers(packed.forward(&x, false).expect("a result")), [-1.0, 3.0, 9.0]);
        assert_eq!(numbers(packed.forward(&x, true).expect("a result")), [0.0, 3.0, 6.0]);
        let wrong = Tensor::zeros([1, 3, 1, 3], (Kind::Float, tch::Device::Cpu));
        assert!(packed.forward(&wrong, false).is_err(), "three channels where there is one");
    }

    /// Each channel by itself, stride 2, as libtorch's own convolution has it.
    #[test]
    fn channels_by_themselves_with_a_stride() {
        let x = crate::channels_last(
            &Tensor::arange(2 * 4 * 6 * 6, (Kind::Float, tch::Device::Cpu)).view([2, 4, 6, 6]).sin(),
        );
        let weight = Tensor::arange(4 * 9, (Kind::Float, tch::Device::Cpu)).view([4, 1, 3, 3]).cos();
        let bias = Tensor::from_slice(&[0.0f32, 1.0, 2.0, 3.0]);
        let expected = x.conv2d(&weight, Some(&bias), 2, 1, 1, 4);
        let Some(packed) = Packed::new(&x, &weight, &bias, (2, 1, 4)).expect("no error") else { return };
        let found = packed.forward(&x, false).expect("a result");
        assert!(f64::try_from((found - expected).abs().max()).expect("a number") < 1e-5);
    }
}
