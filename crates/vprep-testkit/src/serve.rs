//! Connections: one thread each, one request after the other.

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::body::{self, Sending};
use crate::fault::{Asked, Fault, Plan, RetryAfter};
use crate::http::{Head, Request};
use crate::hub::{State, lock};
use crate::log::Entry;
use crate::range;
use crate::route::{self, Answer, FileAnswer};

/// What captive portals say.
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\
    <body><h1>Please sign in to use this network</h1></body></html>\n";

/// Whether the connection can be used again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Keep,
    Close,
}

/// Accepts connections until the hub stops.
pub(crate) fn accept(listener: &TcpListener, state: &Arc<State>, is_cdn: bool) {
    for stream in listener.incoming() {
        if state.stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let state = Arc::clone(state);
        thread::spawn(move || connection(&stream, &state, is_cdn));
    }
}

fn connection(stream: &TcpStream, state: &Arc<State>, is_cdn: bool) {
    let Ok(peer) = stream.peer_addr() else { return };
    if let Ok(copy) = stream.try_clone() {
        lock(&state.open).insert(peer, copy);
    }
    stream.set_nodelay(true).ok();
    let mut input = BufReader::new(stream);
    // A client that goes away is nothing to report: the log says how far it got.
    while let Ok(Some(request)) = Request::read(&mut input) {
        let after = answer(stream, state, &request, is_cdn);
        if state.stop.load(Ordering::SeqCst) || !matches!(after, Ok(After::Keep)) {
            break;
        }
    }
    lock(&state.open).remove(&peer);
    stream.shutdown(Shutdown::Both).ok();
}

/// Answers one request.
fn answer(
    stream: &TcpStream,
    state: &Arc<State>,
    request: &Request,
    is_cdn: bool,
) -> io::Result<After> {
    let mut head_only = request.method == "HEAD";
    let control = request.path().starts_with("/_test/");
    let (key, mut answer) = match (control, is_cdn) {
        (true, _) => (None, route::control(state, request)),
        (false, true) => route::cdn(state, request),
        (false, false) => route::hub(state, request),
    };
    let mut plan = Plan::default();
    if !control {
        let sends_bytes = request.method == "GET" && matches!(answer, Answer::File(_));
        plan = state.rules.plan(&Asked {
            method: &request.method,
            path: request.path(),
            key: key.as_deref(),
            sends_bytes,
        });
    }
    let silent = plan.faults.contains(&Fault::NoResponse);
    if let Some(instead) = plan.find(|fault| replacement(fault, request)) {
        answer = instead;
    }
    let (head, sending) = match &answer {
        Answer::Text(head, text) => {
            (head.clone().with("Content-Length", text.len().to_string()), None)
        }
        Answer::File(file) => respond(request, file, &plan),
    };
    // No body, whatever the headers say.
    head_only |= head.status == 304;
    let after = if request.keep_alive { After::Keep } else { After::Close };

    let pending = (!control).then(|| {
        let text = |name| request.header(name).map(str::to_owned);
        state.log.push(Entry {
            cdn: is_cdn,
            method: request.method.clone(),
            target: request.target.clone(),
            key,
            range: text("range"),
            if_range: text("if-range"),
            authorization: request.header("authorization").is_some(),
            user_agent: text("user-agent"),
            status: if silent { 0 } else { head.status },
            bytes: 0,
            done: false,
            beside: 0,
            faults: plan.faults.clone(),
        })
    });
    if silent {
        return Ok(After::Close);
    }

    let mut output = stream;
    head.write(&mut output)?;
    let after = match (&answer, sending) {
        _ if head_only => after,
        (Answer::Text(_, text), _) => {
            output.write_all(text.as_bytes())?;
            if let Some(pending) = &pending {
                pending.bytes.store(text.len() as u64, Ordering::SeqCst);
            }
            after
        }
        (Answer::File(file), Some(sending)) => {
            let pending = pending.as_ref().expect("control sends no files");
            match body::send(stream, &file.content, sending, &plan, &pending.bytes, &state.stop)? {
                After::Keep => after,
                After::Close => return Ok(After::Close),
            }
        }
        (Answer::File(_), None) => after,
    };
    if let Some(pending) = pending {
        pending.done.store(true, Ordering::SeqCst);
    }
    Ok(after)
}

/// What is answered instead, if the fault is of that sort.
fn replacement(fault: &Fault, request: &Request) -> Option<Answer> {
    let head = match fault {
        Fault::HtmlPage => {
            let head = Head::new(200).with("Content-Type", "text/html; charset=utf-8");
            return Some(Answer::Text(head, PAGE.to_owned()));
        }
        Fault::Status { code } => Head::new(*code),
        Fault::TooManyRequests { retry_after } => {
            let value = match retry_after {
                RetryAfter::Absent => None,
                RetryAfter::Seconds(seconds) => Some(seconds.to_string()),
                RetryAfter::Date(seconds) => {
                    let date = SystemTime::now() + Duration::from_secs(*seconds);
                    Some(httpdate::fmt_http_date(date))
                }
            };
            Head::new(429).with_some("Retry-After", value)
        }
        Fault::RedirectLoop => Head::new(302).with("Location", request.target.clone()),
        _ => return None,
    };
    Some(Answer::Text(head, String::new()))
}

/// The head of a file's response, and the part of the file that follows.
fn respond(request: &Request, file: &FileAnswer, plan: &Plan) -> (Head, Option<Sending>) {
    let FileAnswer { head, content, etag, modified } = file;
    let len = content.len();
    let etag = etag.as_deref();
    let head = head
        .clone()
        .with("Accept-Ranges", "bytes")
        .with_some("ETag", etag)
        .with_some("Last-Modified", modified.map(httpdate::fmt_http_date));
    let with_status = |status| head.clone().with_status(status);

    if request.header("if-none-match").is_some_and(|text| range::names(text, etag)) {
        return (with_status(304), None);
    }
    if request.header("if-match").is_some_and(|text| !range::names(text, etag)) {
        return (with_status(412).with("Content-Length", "0"), None);
    }
    let holds =
        request.header("if-range").is_none_or(|text| range::if_range(text, etag, *modified));
    let obeyed = holds && !plan.faults.contains(&Fault::IgnoreRange);
    match range::parse(request.header("range").filter(|_| obeyed), len) {
        range::Asked::Unsatisfiable => {
            let head = with_status(416).with("Content-Range", format!("bytes */{len}"));
            (head.with("Content-Length", "0"), None)
        }
        range::Asked::Whole => {
            let sending = Sending { start: 0, end: len };
            let (length, sending) = length(plan, sending);
            (with_status(200).with_some("Content-Length", length), Some(sending))
        }
        range::Asked::Part(start, end) => {
            let (length, sending) = length(plan, Sending { start, end });
            let mut said = Sending { start, end };
            // A response that says it is shorter says so in both headers.
            if plan.find(short_but_consistent).is_some() {
                said.end = sending.end;
            }
            let (said, sending) = shifted(plan, said, sending, len);
            let head = with_status(206)
                .with("Content-Range", format!("bytes {}-{}/{len}", said.start, said.end - 1))
                .with_some("Content-Length", length);
            (head, Some(sending))
        }
    }
}

fn short_but_consistent(fault: &Fault) -> Option<()> {
    use crate::fault::Declared::Short;
    matches!(fault, Fault::ShortBody { declared: Short, .. }).then_some(())
}

/// The value of `Content-Length`, and what is really sent.
fn length(plan: &Plan, whole: Sending) -> (Option<String>, Sending) {
    use crate::fault::Declared;
    let full = whole.end - whole.start;
    let mut sending = whole;
    let mut said = Some(full);
    for fault in &plan.faults {
        match fault {
            Fault::ShortBody { missing, declared } => {
                // At least a byte remains, so that a range stays one.
                let left = full.saturating_sub(*missing).max(full.min(1));
                sending.end = whole.start + left;
                said = match declared {
                    Declared::Full => said,
                    Declared::Short => Some(left),
                    Declared::Nothing => None,
                };
            }
            Fault::WrongContentLength { delta } => {
                said = said.map(|len| len.saturating_add_signed(*delta));
            }
            _ => {}
        }
    }
    (said.map(|len| len.to_string()), sending)
}

/// A range, and the one that is sent instead.
fn shifted(plan: &Plan, said: Sending, sending: Sending, len: u64) -> (Sending, Sending) {
    let shift = plan.find(|fault| match fault {
        Fault::WrongContentRange { shift, bytes_too } => Some((*shift, *bytes_too)),
        _ => None,
    });
    let Some((shift, bytes_too)) = shift else { return (said, sending) };
    // Within the file, even if the shift comes out smaller.
    let shift = shift.clamp(-(said.start as i64), (len - said.end) as i64);
    let moved = |range: Sending| Sending {
        start: range.start.saturating_add_signed(shift),
        end: range.end.saturating_add_signed(shift),
    };
    (moved(said), if bytes_too { moved(sending) } else { sending })
}
