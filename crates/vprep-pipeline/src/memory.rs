//! How much memory there is.

use sysinfo::System;

/// A quarter of the memory of this machine, or of the control group that it runs in.
pub fn quarter_of_memory() -> u64 {
    let mut system = System::new();
    system.refresh_memory();
    let group = system.cgroup_limits().map(|limits| limits.total_memory);
    let group = group.filter(|&bytes| bytes > 0).unwrap_or(u64::MAX);
    system.total_memory().min(group) / 4
}
