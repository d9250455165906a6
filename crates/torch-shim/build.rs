//! Compiles the C++ half against libtorch's own headers, and leaves a run path so that the tests find the library.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-changed=cuda");
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rerun-if-env-changed=LIBTORCH_INCLUDE");

    // torch-sys has already refused to build without libtorch, so this is the folder it chose.
    let Ok(lib) = env::var("DEP_TCH_LIBTORCH_LIB") else {
        return;
    };
    println!("cargo:rustc-link-arg=-Wl,-rpath,{lib}");

    let include = include_folder(Path::new(&lib));
    // For the test that builds a program of its own.
    println!("cargo:rustc-env=SHIM_LIB={lib}");
    println!("cargo:rustc-env=SHIM_INCLUDE={}", include.display());
    cc::Build::new()
        .cpp(true)
        .pic(true)
        .std("c++17")
        // The headers are not ours, and warn.
        .warnings(false)
        .include(&include)
        .include(include.join("torch/csrc/api/include"))
        .define("_GLIBCXX_USE_CXX11_ABI", "1")
        .define("GLOG_USE_GLOG_EXPORT", None)
        // Every call here ends in libtorch: optimizing the glue costs build time and gains nothing.
        .opt_level(0)
        .debug(false)
        .file("cpp/shim.cpp")
        .file("cpp/kernels.cpp")
        .file("cpp/stem.cpp")
        .file("cpp/small.cpp")
        .file("cpp/look_on_cpu.cpp")
        .file("cpp/nccl.cpp")
        .file("cpp/processes.cpp")
        // libtorch has Gloo, but not the headers of it that its own headers ask for.
        .define("USE_C10D_GLOO", None)
        .flag("-idirafter")
        .flag("cpp/without-gloo")
        .file("cpp/script.cpp")
        .compile("torch_shim");
}

/// The headers lie where torch-sys looks for them: under `LIBTORCH_INCLUDE`, else `LIBTORCH`, else next to the library.
fn include_folder(lib: &Path) -> PathBuf {
    let root = env::var_os("LIBTORCH_INCLUDE").or_else(|| env::var_os("LIBTORCH")).map(PathBuf::from);
    match root {
        Some(root) => root.join("include"),
        None => lib.with_file_name("include"),
    }
}
