//! Set-up from beginning to end, on made-up machines.

use std::fs;

use super::machine::{Machine, PYTHON, PYTHON_WITH_TORCH, script};
use super::*;

#[test]
fn a_fresh_machine_fetches_unpacks_and_links() {
    let machine = Machine::new();
    assert_eq!(machine.setup().expect("set up"), machine.environment.link());
    let folder = machine.at("cache/libtorch-2.11.0-cpu");
    assert_eq!(machine.linked(), folder);
    assert_eq!(machine.cache(), ["libtorch-2.11.0-cpu", "lock"]);
    assert_eq!(machine.log(), ["download torch", "download cudart"]);

    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("unpacked");
    assert_eq!(read("lib/libtorch_cpu.so"), "the code of the cpu half");
    assert_eq!(read("lib/libcudart.so.13"), "the runtime");
    assert_eq!(read("lib/libtorch.so"), "INPUT(libtorch_cpu.so)\n");
    assert_eq!(read("include/ATen/ATen.h"), "#pragma once");
    assert_eq!(read("build-version"), "2.11.0");
    assert!(!folder.join("lib/libtorch_cuda.so").exists());
}

#[test]
fn the_second_time_nothing_is_fetched() {
    let machine = Machine::new();
    machine.setup().expect("set up");
    machine.setup().expect("set up");
    assert_eq!(machine.log().len(), 2);
}

#[test]
fn another_checkout_shares_the_cache() {
    let machine = Machine::new();
    machine.setup().expect("set up");
    fs::remove_file(machine.environment.link()).expect("removed");
    machine.setup().expect("set up");
    assert_eq!(machine.log().len(), 2);
}

#[test]
fn without_a_compiler_nothing_is_fetched() {
    let machine = Machine::bare();
    machine.program("python3", PYTHON);
    let error = machine.setup().expect_err("no compiler");
    assert_eq!(error.to_string(), "no C++ compiler: `c++` is not on the path");
    assert!(error.hint().contains("build-essential"));
    assert!(machine.log().is_empty());
}

#[test]
fn the_compiler_may_be_named() {
    let mut machine = Machine::new();
    machine.set("CXX", "nowhere++ -O2");
    let error = machine.setup().expect_err("no such compiler");
    assert_eq!(error.to_string(), "no C++ compiler: `nowhere++` is not on the path");
    machine.set("CXX", machine.at("bin/c++"));
    machine.setup().expect("set up");
}

#[test]
fn without_python_or_pip_the_package_is_named() {
    let machine = Machine::bare();
    machine.program("c++", "exit 0");
    let error = machine.setup().expect_err("no python");
    assert!(matches!(error, Error::NoPython) && error.hint().contains("python3-pip"), "{error}");
    assert!(error.hint().contains("LIBTORCH"));

    machine.program("python3", "exit 1");
    let error = machine.setup().expect_err("no pip");
    assert!(matches!(error, Error::NoPip { .. }) && error.hint().contains("python3-pip"), "{error}");
}

#[test]
fn a_failing_network_leaves_nothing_half_done() {
    let mut machine = Machine::new();
    for failure in ["fail", "half"] {
        machine.set("PIP_DOES", failure);
        let error = machine.setup().expect_err("no network");
        assert!(matches!(error, Error::Pip { .. }) && error.hint().contains("network"), "{error}");
        assert_eq!(machine.cache(), ["downloads", "lock"]);
        assert!(fs::read_dir(machine.at("cache/downloads")).expect("a folder").next().is_none());
        assert!(!machine.environment.link().exists());
    }
    machine.set("PIP_DOES", "");
    machine.setup().expect("set up");
}

#[test]
fn what_a_killed_setup_left_is_cleared_and_its_whole_wheels_are_kept() {
    let machine = Machine::new();
    for leftover in ["downloads.partial-1", "libtorch.partial-1", "downloads"] {
        fs::create_dir_all(machine.at("cache").join(leftover)).expect("a folder");
    }
    fs::write(machine.at("cache/downloads.partial-1/torch.whl"), "half").expect("a file");
    fs::copy(machine.at("index/torch.whl"), machine.at("cache/downloads/torch.whl")).expect("copied");
    fs::write(machine.at("cache/downloads/cudart.whl"), "half").expect("a file");

    machine.setup().expect("set up");
    assert_eq!(machine.log(), ["download cudart"]);
    assert_eq!(machine.cache(), ["libtorch-2.11.0-cpu", "lock"]);
}

#[test]
fn wheels_put_in_place_by_hand_need_neither_network_nor_python() {
    let machine = Machine::bare();
    machine.program("c++", "exit 0");
    fs::create_dir_all(machine.at("cache/downloads")).expect("a folder");
    for name in ["torch.whl", "cudart.whl"] {
        fs::copy(machine.at("index").join(name), machine.at("cache/downloads").join(name)).expect("copied");
    }
    machine.setup().expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
}

#[test]
fn a_wrong_wheel_is_refused_and_removed() {
    let mut machine = Machine::new();
    machine.set("PIP_DOES", "wrong");
    let error = machine.setup().expect_err("the wrong content");
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
    assert!(error.to_string().contains(&machine.checksums[0]));
    assert_eq!(machine.cache(), ["downloads", "lock"]);
    assert!(fs::read_dir(machine.at("cache/downloads")).expect("a folder").next().is_none());

    machine.set("PIP_DOES", "other");
    let error = machine.setup().expect_err("another wheel");
    assert!(matches!(error, Error::OtherWheel { .. }) && error.hint().contains("PIP_INDEX_URL"), "{error}");
}

#[test]
fn a_damaged_cache_is_noticed_and_fetched_anew() {
    let machine = Machine::new();
    machine.setup().expect("set up");
    let library = machine.at("cache/libtorch-2.11.0-cpu/lib/libtorch_cpu.so");
    fs::write(&library, "cut").expect("damaged");
    machine.setup().expect("set up");
    assert_eq!(fs::read_to_string(&library).expect("whole again"), "the code of the cpu half");
    fs::remove_file(machine.at("cache/libtorch-2.11.0-cpu/include/ATen/ATen.h")).expect("damaged");
    machine.setup().expect("set up");
    assert_eq!(machine.log().len(), 6);
}

#[test]
fn a_link_that_leads_nowhere_is_made_anew() {
    let machine = Machine::new();
    std::os::unix::fs::symlink(machine.at("gone"), machine.environment.link()).expect("a link");
    machine.setup().expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
}

#[test]
fn a_folder_in_the_place_of_the_link_is_left_alone() {
    let machine = Machine::new();
    fs::create_dir(machine.environment.link()).expect("a folder");
    fs::write(machine.environment.link().join("thesis.tex"), "five years").expect("a file");
    let error = machine.setup().expect_err("not ours");
    assert!(matches!(error, Error::NotALink { .. }), "{error}");
    assert!(machine.environment.link().join("thesis.tex").exists());
    assert!(machine.log().is_empty());
}

#[test]
fn a_libtorch_of_the_users_own_wins() {
    let mut machine = Machine::new();
    machine.setup().expect("set up");
    let own = machine.libtorch("own", "2.11.0+cpu\n");
    machine.set("LIBTORCH", &own);
    assert_eq!(machine.setup().expect("found"), own);
}

#[test]
fn a_libtorch_of_another_version_is_refused() {
    let mut machine = Machine::new();
    let own = machine.libtorch("own", "2.10.0");
    machine.set("LIBTORCH", &own);
    let error = machine.setup().expect_err("too old");
    assert!(error.to_string().contains("expected version 2.11.0, found 2.10.0"), "{error}");
    machine.set("LIBTORCH", machine.at("nowhere"));
    let error = machine.setup().expect_err("not there");
    assert!(error.to_string().contains("is not a folder"), "{error}");
    assert!(error.hint().contains("unset"));
    assert!(machine.log().is_empty());
}

#[test]
fn a_python_with_torch_is_used_as_it_is() {
    let mut machine = Machine::new();
    let torch = machine.libtorch("site-packages/torch", "2.11.0+cu130");
    machine.program("python3", PYTHON_WITH_TORCH);
    machine.set("TORCH", &torch);
    machine.set("TORCH_VERSION", "2.11.0+cu130");
    machine.setup().expect("found");
    assert_eq!(machine.linked(), torch);
    assert!(machine.cache().is_empty());
}

#[test]
fn a_python_with_another_torch_is_passed_over() {
    let mut machine = Machine::new();
    let torch = machine.libtorch("site-packages/torch", "2.10.0");
    machine.program("python3", PYTHON_WITH_TORCH);
    machine.set("TORCH", &torch);
    machine.set("TORCH_VERSION", "2.10.0");
    // That Python has no pip, so there is nothing left to try.
    assert!(matches!(machine.setup(), Err(Error::NoPip { .. })));
}

#[test]
fn an_active_virtual_environment_comes_first() {
    let mut machine = Machine::new();
    let torch = machine.libtorch("site-packages/torch", "2.11.0");
    fs::create_dir_all(machine.at("venv/bin")).expect("a folder");
    script(&machine.at("venv/bin/python"), PYTHON_WITH_TORCH);
    machine.set("VIRTUAL_ENV", machine.at("venv"));
    machine.set("TORCH", &torch);
    machine.set("TORCH_VERSION", "2.11.0");
    machine.setup().expect("found");
    assert_eq!(machine.linked(), torch);

    // Without torch, and without pip, as uv makes them: the other Python's pip serves.
    machine.set("TORCH_VERSION", "none");
    fs::remove_file(machine.environment.link()).expect("removed");
    machine.setup().expect("fetched");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
}

#[test]
fn a_gpu_decides_for_cuda() {
    let machine = Machine::new();
    machine.program("nvidia-smi", "echo 'GPU 0: NVIDIA H200 (UUID: GPU-0)'");
    machine.setup().expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cuda/torch"));
    assert_eq!(machine.log(), ["install torch"]);
    assert_eq!(machine.cache(), ["libtorch-2.11.0-cuda", "lock"]);
    machine.setup().expect("set up");
    assert_eq!(machine.log().len(), 1);
}

#[test]
fn a_damaged_package_of_nvidias_is_noticed_too() {
    let machine = Machine::new();
    machine.setup_for(Wish::Cuda).expect("set up");
    fs::remove_file(machine.at("cache/libtorch-2.11.0-cuda/nvidia/lib/libcudart.so")).expect("damaged");
    machine.setup().expect("set up again, as the machine has no GPU for the CPU");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
}

#[test]
fn a_driver_without_a_gpu_does_not() {
    let machine = Machine::new();
    for answer in ["echo 'No devices found'", "echo 'GPU 0: broken'; exit 9"] {
        machine.program("nvidia-smi", answer);
        machine.setup().expect("set up");
        assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
        fs::remove_file(machine.environment.link()).expect("removed");
    }
}

#[test]
fn a_flag_overrules_the_gpu_and_is_remembered_by_the_link() {
    let machine = Machine::new();
    machine.program("nvidia-smi", "echo 'GPU 0: NVIDIA H200 (UUID: GPU-0)'");
    machine.setup_for(Wish::Cpu).expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
    machine.setup().expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
    machine.setup_for(Wish::Cuda).expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cuda/torch"));
}

#[test]
fn going_over_to_the_other_half_has_torch_sys_built_anew() {
    let mut machine = Machine::new();
    machine.program("cargo", r#"echo "$@" >> "$INDEX/cargo""#);
    machine.set("CARGO", machine.at("bin/cargo"));
    let asked = |machine: &Machine| fs::read_to_string(machine.at("index/cargo")).unwrap_or_default();
    machine.setup_for(Wish::Cpu).expect("set up");
    machine.setup_for(Wish::Cpu).expect("set up");
    assert_eq!(asked(&machine), "");
    machine.setup_for(Wish::Cuda).expect("set up");
    assert_eq!(
        asked(&machine),
        "clean --quiet --package torch-sys --profile dev\nclean --quiet --package torch-sys --profile release\n"
    );
}

#[test]
fn other_platforms_are_told_what_to_do() {
    let mut machine = Machine::new();
    machine.environment.platform = ("macos", "aarch64");
    let error = machine.setup().expect_err("nothing to fetch");
    assert!(error.to_string().contains("macos on aarch64") && error.hint().contains("LIBTORCH"), "{error}");
}

#[test]
fn a_full_disk_is_noticed_before_the_download() {
    let machine = Machine::new();
    machine.program("df", "echo Filesystem; echo '/dev/disk 100 99 1 99% /'");
    let error = machine.setup().expect_err("no room");
    assert!(matches!(error, Error::NoRoom { .. }) && error.hint().contains("PRESCIENT_CACHE"), "{error}");
    assert!(machine.log().is_empty());
}

#[test]
fn two_setups_at_once_fetch_once() {
    let here = Machine::new();
    let mut there = Machine::new();
    there.set("PRESCIENT_CACHE", here.at("cache"));
    there.set("INDEX", here.at("index"));
    there.checksums = here.checksums.clone();
    std::thread::scope(|scope| {
        for each in [scope.spawn(|| here.setup()), scope.spawn(|| there.setup())] {
            each.join().expect("no panic").expect("set up");
        }
    });
    assert_eq!(here.log(), ["download torch", "download cudart"]);
    assert_eq!(here.linked(), there.linked());
}
