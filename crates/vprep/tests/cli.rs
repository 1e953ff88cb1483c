//! The command line, case by case: each `cases/<name>/` holds the command lines (`cmd.toml`, or
//! `cmd.trycmd` for several in one directory), the files it starts from (`cmd.in/`), and what
//! must come out (`cmd.stdout`, `cmd.stderr`, the exit code). `TRYCMD=overwrite` rewrites what came
//! out. Only times are masked.

#[test]
fn cases() {
    let cases = trycmd::TestCases::new();
    cases.env("COLUMNS", "100").env("NO_COLOR", "1");
    // What stores there are depends on what was compiled in and set up: `make test` has all.
    if !cfg!(feature = "all-stores") || std::env::var_os("VPREP_REQUIRE_STORES").is_none() {
        eprintln!("skipped: the cases of `vprep stores`, which need every store");
        cases.skip("tests/cases/stores*/cmd.toml");
    }
    cases.case("tests/cases/*/cmd.toml").case("tests/cases/*/cmd.trycmd");
}
