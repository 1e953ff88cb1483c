//! Fetching from the misbehaving server of `vprep-testkit`.

mod faults;
mod hub;
mod kill;
mod local;
mod resume;
mod secrets;
mod util;
