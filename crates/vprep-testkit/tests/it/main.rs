//! The protocol, request by request, with a client that hides nothing.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod client;
mod control;
mod faults;
mod files;
mod hub;
mod speed;
