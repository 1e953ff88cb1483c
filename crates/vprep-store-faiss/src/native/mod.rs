//! The calls into FAISS, OpenMP and the C library that the `faiss` crate has no safe form of:
//! searching a shared index, files whose errors are told, what is in an index, and threads.

mod threads;

pub(crate) use threads::Threads;

use faiss::index::{FromInnerPtr, Index, IndexImpl};
use faiss::search_params::SearchParametersIVF;
use std::ffi::{CStr, CString};
use std::io::{Error, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;

/// The version of the linked FAISS.
pub(crate) fn version() -> String {
    // SAFETY: FAISS gives a constant string.
    unsafe { CStr::from_ptr(faiss_sys::faiss_get_version()) }.to_string_lossy().into_owned()
}

/// What the last call that failed on this thread said.
fn last_error() -> String {
    // SAFETY: FAISS keeps the text of an error for each thread until the next one; null is none.
    unsafe {
        let text = faiss_sys::faiss_get_last_error();
        if text.is_null() {
            return "FAISS does not say why".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}

/// The `k` neighbours of each query (`q x d`): `q x k` row numbers, -1 where there are fewer, and
/// distances as FAISS has them. `nprobe` is for an IVF index.
pub(crate) fn search(
    index: &IndexImpl,
    queries: &[f32],
    k: usize,
    nprobe: Option<u32>,
) -> Result<(Vec<i64>, Vec<f32>), String> {
    let count = queries.len() / index.d() as usize;
    let parameters = nprobe.map(|nprobe| {
        SearchParametersIVF::new().map(|mut parameters| {
            parameters.set_nprobe(nprobe as usize);
            parameters
        })
    });
    let parameters = parameters.transpose().map_err(|e| e.to_string())?;
    let mut rows = vec![-1; count * k];
    let mut distances = vec![f32::NAN; count * k];
    // SAFETY: `count` whole queries are read, `count * k` values written to each output. The
    // parameters live until the call ends. FAISS allows searches of one index from many threads as
    // long as nobody changes it; only `efSearch` ever changes, behind the gate.
    let code = unsafe {
        faiss_sys::faiss_Index_search_with_params(
            index.inner_ptr(),
            count as i64,
            queries.as_ptr(),
            k as i64,
            parameters.as_ref().map_or(null(), |p| p.inner_ptr().cast_const()),
            distances.as_mut_ptr(),
            rows.as_mut_ptr(),
        )
    };
    if code == 0 { Ok((rows, distances)) } else { Err(last_error()) }
}

/// Rows in each list, if this is an IVF index.
pub(crate) fn list_sizes(index: &IndexImpl) -> Option<Vec<u64>> {
    // SAFETY: the cast checks the type, and every list number is below the number of lists.
    unsafe {
        let ivf = faiss_sys::faiss_IndexIVF_cast(index.inner_ptr());
        if ivf.is_null() {
            return None;
        }
        let lists = 0..faiss_sys::faiss_IndexIVF_nlist(ivf);
        Some(lists.map(|list| faiss_sys::faiss_IndexIVF_get_list_size(ivf, list) as u64).collect())
    }
}

/// Whether this is an index of all vectors.
pub(crate) fn is_flat(index: &IndexImpl) -> bool {
    // SAFETY: the cast checks the type of a living index.
    unsafe { !faiss_sys::faiss_IndexFlat_cast(index.inner_ptr()).is_null() }
}

/// Bytes of a stored vector, if the index encodes vectors one by one.
pub(crate) fn code_size(index: &IndexImpl) -> Option<usize> {
    let mut size = 0;
    // SAFETY: one number is written.
    let code = unsafe { faiss_sys::faiss_Index_sa_code_size(index.inner_ptr(), &mut size) };
    (code == 0).then_some(size)
}

/// Writes an index; it is on the disk when this returns.
pub(crate) fn write(index: &IndexImpl, path: &Path) -> Result<(), Error> {
    let stream = Stream::open(path, c"wb")?;
    // SAFETY: the stream is open for writing.
    unsafe {
        if faiss_sys::faiss_write_index(index.inner_ptr(), stream.0.cast()) != 0 {
            let system = Error::last_os_error();
            let failed = libc::ferror(stream.0) != 0;
            return Err(if failed { system } else { Error::other(last_error()) });
        }
        // What the C library still holds goes out here, where a full disk shows.
        if libc::fflush(stream.0) != 0 || libc::fsync(libc::fileno(stream.0)) != 0 {
            return Err(Error::last_os_error());
        }
    }
    Ok(())
}

/// Reads an index that FAISS has written. Other bytes may crash the process.
pub(crate) fn read(path: &Path) -> Result<IndexImpl, Error> {
    let stream = Stream::open(path, c"rb")?;
    let mut index = std::ptr::null_mut();
    // SAFETY: the stream is open for reading; a new index is owned by nobody else.
    unsafe {
        if faiss_sys::faiss_read_index(stream.0.cast(), 0, &mut index) != 0 {
            return Err(Error::other(last_error()));
        }
        Ok(IndexImpl::from_inner_ptr(index))
    }
}

/// A file of the C library.
struct Stream(*mut libc::FILE);

impl Stream {
    fn open(path: &Path, mode: &CStr) -> Result<Self, Error> {
        let path = CString::new(path.as_os_str().as_bytes())
            .map_err(|e| Error::new(ErrorKind::InvalidInput, e))?;
        // SAFETY: both are strings.
        let file = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
        if file.is_null() { Err(Error::last_os_error()) } else { Ok(Self(file)) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: it is open and closed once. What was written has been flushed before.
        unsafe { libc::fclose(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told() {
        let mut index = faiss::index_factory(4, "Flat", faiss::MetricType::L2).unwrap();
        index.add(&[1.0; 8]).unwrap();
        let error = write(&index, Path::new("/dev/full")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        index.add(&vec![1.0; 1 << 20]).unwrap();
        let error = write(&index, Path::new("/dev/full")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    }
}
