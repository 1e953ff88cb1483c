//! The threads of OpenMP and BLAS.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::Once;

unsafe extern "C" {
    fn omp_get_max_threads() -> c_int;
    fn omp_set_num_threads(threads: c_int);
}

/// While it lives, OpenMP loops that this thread starts have so many threads.
pub(crate) struct Threads {
    before: c_int,
    /// The setting belongs to one thread, so this stays there.
    here: PhantomData<*const ()>,
}

impl Threads {
    pub(crate) fn hold(threads: usize) -> Self {
        hold_blas();
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        // SAFETY: both only touch a number of the calling thread.
        let before = unsafe { omp_get_max_threads() };
        unsafe { omp_set_num_threads(threads) };
        Self { before, here: PhantomData }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { omp_set_num_threads(self.before) };
    }
}

/// Gives OpenBLAS, if that is the BLAS, one thread for good. The number is that of the whole
/// process and must not change while OpenBLAS runs on any thread, so it cannot follow a pool.
fn hold_blas() {
    type Set = unsafe extern "C" fn(c_int);
    static ONCE: Once = Once::new();
    // SAFETY: a symbol of this name is OpenBLAS's function of this type, and null is none. Every
    // call of FAISS that leads to BLAS comes after this.
    ONCE.call_once(|| unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"openblas_set_num_threads".as_ptr());
        if let Some(set) = std::mem::transmute::<*mut c_void, Option<Set>>(symbol) {
            set(1);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_of_openmp_are_held_and_given_back() {
        // SAFETY: reads a number of the calling thread.
        let threads = || unsafe { omp_get_max_threads() };
        let before = threads();
        let outer = Threads::hold(3);
        assert_eq!(threads(), 3);
        let inner = Threads::hold(1);
        assert_eq!(threads(), 1);
        drop(inner);
        assert_eq!(threads(), 3);
        drop(outer);
        assert_eq!(threads(), before);
    }
}
