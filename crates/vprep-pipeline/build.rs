//! Lets tests and examples find the libduckdb that they are linked with.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DUCKDB_LIB_DIR");
    if std::env::var_os("CARGO_FEATURE_DUCKDB").is_some()
        && let Ok(dir) = std::env::var("DUCKDB_LIB_DIR")
    {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{dir}");
    }
}
