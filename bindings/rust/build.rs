//! Asks pkg-config where libtinkc is, and has the program remember it (rpath).
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rustc-link-lib=tinkc");
    let out = Command::new("pkg-config")
        .args(["--libs-only-L", "tinkc"])
        .output();
    let out = out.expect("pkg-config is needed");
    assert!(out.status.success(), "pkg-config does not know tinkc");
    for flag in String::from_utf8_lossy(&out.stdout).split_whitespace() {
        if let Some(path) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={path}");
            println!("cargo:rustc-link-arg=-Wl,-rpath,{path}");
        }
    }
}
