//! Fetching from the misbehaving server of `vprep-testkit`.

mod catalog;
mod faults;
mod full;
mod hub;
mod kill;
mod local;
mod resume;
mod secrets;
mod util;
