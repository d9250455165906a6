//! Alone in its process, which has one generator of random numbers.

use tch::{Device, Kind, Tensor};
use torch_shim::{random_state, set_random_state};

#[test]
fn random_numbers_go_on_from_where_they_were() {
    let draw = || Vec::<f32>::try_from(Tensor::randn([5], (Kind::Float, Device::Cpu))).expect("numbers");
    let state = random_state(Device::Cpu);
    let first = draw();
    assert_ne!(draw(), first);
    set_random_state(Device::Cpu, &state).expect("a state");
    assert_eq!(draw(), first);
    assert!(set_random_state(Device::Cpu, &Tensor::zeros([7], (Kind::Uint8, Device::Cpu))).is_err());
}
