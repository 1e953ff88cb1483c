//! The body of a file's response, whole or mangled.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::content::Content;
use crate::fault::{Declared, Fault, Plan};
use crate::serve::After;

/// Bytes to the socket at once. On loopback this was faster than `sendfile` (1.1 and 0.8 GB/s).
const BLOCK: u64 = 1 << 20;
/// Longest sleep before the stop flag is looked at.
const NAP: Duration = Duration::from_millis(20);

/// The part of a file that is sent, `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Sends the part, and says whether the client can still tell where the response ends.
pub(crate) fn send(
    stream: &TcpStream,
    content: &Content,
    part: Sending,
    plan: &Plan,
    sent: &AtomicU64,
    stop: &AtomicBool,
) -> io::Result<After> {
    let breaks = plan.faults.iter().any(|fault| {
        matches!(
            fault,
            Fault::Cut { .. }
                | Fault::WrongContentLength { .. }
                | Fault::ShortBody { declared: Declared::Full | Declared::Nothing, .. }
        )
    });
    let after = if breaks { After::Close } else { After::Keep };
    let cut = plan.find(|fault| match fault {
        Fault::Cut { after } => Some(part.start.saturating_add(*after)),
        _ => None,
    });
    let end = part.end.min(cut.unwrap_or(part.end));
    let part = Sending { end, ..part };

    copy_blocks(stream, content, part, plan, sent, stop)?;
    Ok(after)
}

/// Block by block, with the faults that touch the bytes or their timing.
fn copy_blocks(
    mut stream: &TcpStream,
    content: &Content,
    part: Sending,
    plan: &Plan,
    sent: &AtomicU64,
    stop: &AtomicBool,
) -> io::Result<()> {
    let mut stall = plan.find(|fault| match fault {
        Fault::Stall { after, millis } => Some((part.start.saturating_add(*after), *millis)),
        _ => None,
    });
    let speed = plan.find(|fault| match fault {
        Fault::Slow { bytes_per_second } => Some((*bytes_per_second).max(1)),
        _ => None,
    });
    // A twentieth of a second of a slow body at once.
    let most = speed.map_or(BLOCK, |speed| (speed / 20).clamp(1, BLOCK));
    let mut block = vec![0; most.min(part.end - part.start) as usize];
    let begin = Instant::now();
    let mut at = part.start;
    while at < part.end {
        stopped(stop)?;
        if let Some((_, millis)) = stall.take_if(|(from, _)| *from <= at) {
            nap(begin.elapsed() + Duration::from_millis(millis), begin, stop)?;
        }
        let until = stall.map_or(part.end, |(from, _)| from.min(part.end));
        let take = most.min(until - at) as usize;
        let block = &mut block[..take];
        content.read_at(at, block)?;
        for fault in &plan.faults {
            if let Fault::FlipByte { offset } = fault
                && let Some(byte) = offset.checked_sub(at).and_then(|n| block.get_mut(n as usize))
            {
                *byte ^= 0xFF;
            }
        }
        stream.write_all(block)?;
        sent.fetch_add(take as u64, Ordering::SeqCst);
        at += take as u64;
        if let Some(speed) = speed {
            let due = Duration::from_secs_f64((at - part.start) as f64 / speed as f64);
            nap(due, begin, stop)?;
        }
    }
    Ok(())
}

/// Sleeps until `due` after `begin`, unless the hub stops.
fn nap(due: Duration, begin: Instant, stop: &AtomicBool) -> io::Result<()> {
    while let Some(left) = due.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) {
        stopped(stop)?;
        thread::sleep(left.min(NAP));
    }
    Ok(())
}

fn stopped(stop: &AtomicBool) -> io::Result<()> {
    if stop.load(Ordering::SeqCst) { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
}
