//! Stores and groups, with threads in the place of processes: each has a connection of its own.

use std::time::{Duration, Instant};

use tch::{Device, Kind, Tensor};
use torch_shim::{GpuGroup, Group, Store};

const TIMEOUT: Duration = Duration::from_secs(20);

/// What each of `count` processes makes of its rank and its group.
fn in_each<T: Send>(count: usize, work: impl Fn(usize, Group) -> T + Sync) -> Vec<T> {
    let kept = Store::serve("127.0.0.1", 0, TIMEOUT).expect("a store");
    let port = kept.port();
    std::thread::scope(|scope| {
        let work = &work;
        let start = |rank| {
            scope.spawn(move || {
                let store = Store::connect("127.0.0.1", port, TIMEOUT).expect("the store");
                let group = store.group("test", (rank, count), Some("127.0.0.1"), TIMEOUT).expect("a group");
                work(rank, group)
            })
        };
        let threads: Vec<_> = (0..count).map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::<f64>::try_from(tensor).expect("numbers")
}

/// Three processes with (0, 1), (1, 1) and (2, 1): the sum is (3, 3), process 1's is shared, and all are gathered in order.
#[test]
fn sums_shares_and_gathers_by_hand() {
    let found = in_each(3, |rank, group| {
        let own = Tensor::from_slice(&[rank as f64, 1.0]);
        let (sum, shared) = (own.copy(), own.copy());
        group.sum(&sum).expect("all are there");
        group.broadcast(&shared, 1).expect("all are there");
        let all = group.gather(&own).expect("all are there");
        group.barrier().expect("all are there");
        (numbers(&sum), numbers(&shared), all.iter().map(numbers).collect::<Vec<_>>())
    });
    for (sum, shared, all) in found {
        assert_eq!((sum, shared), (vec![3.0, 3.0], vec![1.0, 1.0]));
        assert_eq!(all, [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]);
    }
}

/// Rounding depends on the order of a sum; the order is the same in all processes.
#[test]
fn a_sum_has_the_same_bits_in_all_processes() {
    let found = in_each(4, |rank, group| {
        let own = Tensor::arange(100_001, (Kind::Float, Device::Cpu)) * 0.1 + rank as f64 * 1e-3;
        group.sum(&own).expect("all are there");
        own
    });
    assert!(found.iter().all(|other| other.equal(&found[0])));
}

#[test]
fn a_value_is_there_for_all_once_it_is_set() {
    let kept = Store::serve("127.0.0.1", 0, TIMEOUT).expect("a store");
    let other = Store::connect("127.0.0.1", kept.port(), TIMEOUT).expect("the store");
    assert!(!other.has("a").expect("an answer"));
    kept.set("a", &[1, 0, 255]).expect("set");
    // Setting does not wait for the store; getting waits for the value.
    assert_eq!(other.get("a", TIMEOUT).expect("a value"), [1, 0, 255]);
    assert!(other.has("a").expect("an answer"));
}

#[test]
fn who_waits_in_vain_is_told_in_time() {
    let kept = Store::serve("127.0.0.1", 0, TIMEOUT).expect("a store");
    let began = Instant::now();
    kept.get("never", Duration::from_millis(300)).expect_err("nobody sets it");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let error = Store::serve("127.0.0.1", kept.port(), TIMEOUT).expect_err("the port is in use");
    assert!(error.message().contains("EADDRINUSE"), "{error}");
}

/// Where CUDA is not open, or lacks NCCL, that is said with the library's name. Both are refused before NCCL is asked for anything.
#[test]
fn without_nccl_or_a_gpu_there_is_an_error_with_a_reason() {
    if let Err(error) = torch_shim::nccl_version() {
        assert!(error.message().contains("libnccl.so.2"), "{error}");
        let error = torch_shim::nccl_id().expect_err("no library");
        assert!(error.message().contains("libnccl.so.2"), "{error}");
        let error = GpuGroup::join(&[0; 128], (0, 1), Device::Cuda(0), TIMEOUT).expect_err("no library");
        assert!(error.message().contains("libnccl.so.2"), "{error}");
    }
    let error = GpuGroup::join(&[0; 128], (0, 1), Device::Cpu, TIMEOUT).expect_err("no GPU");
    assert!(error.message().contains("on CUDA devices only"), "{error}");
    let error = GpuGroup::join(&[0; 127], (0, 1), Device::Cuda(0), TIMEOUT).expect_err("a byte is missing");
    assert_eq!(error.message(), "an id of NCCL has 128 bytes, and this one 127");
    torch_shim::gpu_uuid(Device::Cpu).expect_err("no GPU");
}
