//! The shim on a machine with two GPUs, without either: a CUDA that only writes down what it is asked, and on which GPU.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What the command prints, which must end well.
fn printed(command: &mut Command) -> String {
    let out = command.output().expect("a program that can be started");
    assert!(out.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("words")
}

/// The first GPU is the current one, as it is in a thread that has asked for none. Work for the second is compiled, launched and
/// recorded there, and afterwards the first is the current one again. Without a guard a module of the one is used on the other, which
/// the driver refuses.
#[test]
fn work_for_the_second_gpu_is_done_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/two_gpus");
    let [include, lib] = [env!("SHIM_INCLUDE"), env!("SHIM_LIB")];
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let compile = || {
        let mut command = Command::new(&compiler);
        command.args(["-std=c++17", "-w"]).current_dir(folder.path());
        command
    };
    printed(compile().args(["-shared", "-fPIC", "-o", "libcuda.so.1"]).arg(sources.join("pretend.cpp")));
    for name in ["libcaffe2_nvrtc.so", "libtorch_cuda.so"] {
        fs::copy(folder.path().join("libcuda.so.1"), folder.path().join(name)).expect("a copy");
    }
    let ours = Path::new(env!("OUT_DIR")).join("libtorch_shim.a");
    let headers = [include, &format!("{include}/torch/csrc/api/include"), concat!(env!("CARGO_MANIFEST_DIR"), "/cpp")];
    let mut program = compile();
    program.args(["-rdynamic", "-o", "two_gpus"]).arg(sources.join("two_gpus.cpp")).arg(ours);
    program.args(headers.map(|headers| format!("-I{headers}")));
    program.args([&format!("-L{lib}"), "-ltorch_cpu", "-lc10", "-ldl", "-pthread", &format!("-Wl,-rpath,{lib}")]);
    printed(&mut program);

    let mut program = Command::new(folder.path().join("two_gpus"));
    let printed = printed(program.env("LD_LIBRARY_PATH", folder.path()));
    let expected = "a module is loaded on 1\n\
                    current: 0\n\
                    a kernel of 1 in a stream of 1 is launched on 1\n\
                    current: 0\n\
                    a recording begins on 1\n\
                    current: 1\n\
                    a recording ends on 1\n\
                    current: 0\n";
    assert_eq!(printed, expected);
}
