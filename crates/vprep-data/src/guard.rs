//! A fence around a library that panics on damaged files.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside [`guard`], where a panic is no news.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, and turns a panic of it into the error that `damaged` makes of its words. The
/// parquet library checks most of what it reads, but not all: an assertion of it that fails means
/// a damaged file.
pub(crate) fn guard<T, E>(
    damaged: impl FnOnce(String) -> E,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    hush();
    GUARDED.set(true);
    // What a panic leaves half done is the library's reader, which at worst panics again.
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(false);
    result
        .unwrap_or_else(|panic| Err(damaged(format!("it is damaged ({})", words(panic.as_ref())))))
}

/// Keeps the message of a guarded panic off the terminal, and passes all others on.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
            if !GUARDED.get() {
                others(panic);
            }
        }));
    });
}

/// What a panic says, in one line.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no reason given").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let guard = |work: fn() -> Result<u8, String>| guard(|words| words, work);
        assert_eq!(guard(|| panic!("one:\n {}", 2)), Err("it is damaged (one: 2)".to_owned()));
        assert_eq!(guard(|| Err("else".to_owned())), Err("else".to_owned()));
        assert_eq!(guard(|| Ok(3)), Ok(3));
        assert!(!GUARDED.get());
    }
}
