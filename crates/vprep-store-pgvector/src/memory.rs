//! How much memory the server may take to build a graph.

use crate::server::Server;
use crate::session::Session;
use sysinfo::System;
use vprep_store::StoreError;

const MIB: u64 = 1 << 20;

/// PostgreSQL starts no more parallel workers than have this much each (its source,
/// `plan_create_index_workers`).
const PER_PROCESS: u64 = 32 * MIB;

/// PostgreSQL's own default of `maintenance_work_mem`.
const LEAST: u64 = 64 * MIB;

/// Bytes of one row in pgvector's graph beside its vector and links: the element, its heap row
/// numbers and the heads of its lists.
const PER_ROW: u64 = 320;

/// Bytes of one link.
const PER_LINK: u64 = 16;

/// `maintenance_work_mem` in kB for a graph of `rows x dim` with `m` links, built by `processes`:
/// enough to hold all of it, but at most half of what this machine has left, or, for a server
/// elsewhere, as much as that server was told to keep for its buffers.
pub(crate) fn maintenance_kb(
    session: &Session,
    server: &Server,
    (rows, dim, m): (usize, usize, u32),
    processes: usize,
) -> Result<u64, StoreError> {
    let ceiling = if server.is_local() { available() / 2 } else { buffers(session)? };
    let least = LEAST.max(PER_PROCESS * processes as u64);
    Ok(graph(rows, dim, m).max(least).min(ceiling.max(LEAST)) / 1024)
}

/// About how many bytes a graph takes, a tenth more to be on the safe side.
fn graph(rows: usize, dim: usize, m: u32) -> u64 {
    // 2m links in the bottom layer, and m in each of the others, which hold 1/m of the rows.
    let links = 2 * u64::from(m) + 2;
    let row = 4 * dim as u64 + PER_LINK * links + PER_ROW;
    rows as u64 * row / 10 * 11 + 4 * MIB
}

/// Bytes that programs on this machine can still take, inside the limits of a container.
fn available() -> u64 {
    let mut system = System::new();
    system.refresh_memory();
    let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    system.available_memory().min(limit)
}

/// Bytes of the server's buffers.
fn buffers(session: &Session) -> Result<u64, StoreError> {
    let operation = "reading shared_buffers";
    let sql = "SELECT pg_size_bytes(current_setting('shared_buffers'))";
    let rows = session.query(operation, sql, &[])?;
    let bytes: i64 = match rows.first() {
        Some(row) => row.try_get(0).map_err(|e| session.failed(operation, &e))?,
        None => 0,
    };
    Ok(u64::try_from(bytes).unwrap_or(0))
}
