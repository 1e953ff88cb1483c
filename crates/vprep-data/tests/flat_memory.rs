//! Reading takes the same memory however large a file or a row group is.

use arrow::array::{FixedSizeListArray, Float32Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use vprep_data::read::{ReadOptions, VectorReader};

/// Counts the bytes in use.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "passes every call on to the system's allocator unchanged")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const DIM: usize = 256;

/// One row group of `rows` vectors, 1 kB each.
fn write(path: &Path, rows: usize) {
    let item = Arc::new(Field::new_list_field(DataType::Float32, false));
    let kind = DataType::FixedSizeList(item.clone(), DIM as i32);
    let schema = Arc::new(Schema::new(vec![Field::new("emb", kind, false)]));
    let one_group = WriterProperties::builder().set_max_row_group_row_count(Some(rows)).build();
    let file = File::create(path).expect("creates");
    let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(one_group)).expect("starts");
    for start in (0..rows).step_by(1_000) {
        let values = (start * DIM..(start + 1_000) * DIM).map(|i| i as f32);
        let values = Arc::new(Float32Array::from_iter_values(values));
        let list = FixedSizeListArray::new(item.clone(), DIM as i32, values, None);
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(list)]).expect("a table");
        writer.write(&batch).expect("writes");
    }
    assert_eq!(writer.close().expect("closes").num_row_groups(), 1);
}

/// The most bytes in use while a file is read, beyond those before.
fn peak(path: &Path) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let mut reader = VectorReader::open(path, &ReadOptions::default()).expect("opens");
    while reader.next_batch().expect("reads").is_some() {}
    PEAK.load(Relaxed) - before
}

#[test]
fn memory_does_not_grow_with_the_row_group() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.parquet");
    write(&path, 16_000);
    let small = peak(&path);
    write(&path, 96_000);
    let large = peak(&path);
    assert!(large < 32 << 20, "{large} bytes for 96 MB");
    assert!(large < small + (4 << 20), "{small} bytes for 16 MB, {large} for 96 MB");
}
