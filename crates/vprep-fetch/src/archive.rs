//! Archives: members are unpacked below a directory, and nothing anywhere else.

use crate::digest::Hasher;
use crate::{FetchError, install, paths, space};
use flate2::read::MultiGzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use tar::{Archive, EntryType};
use tempfile::NamedTempFile;
use vprep_core::{Progress, Task};

/// A member that was unpacked aside and waits to be moved into place.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) file: NamedTempFile,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) md5: String,
}

/// Unpacks the members that `wanted` names, each aside of its place below `into`. Only plain files
/// are unpacked, never links or devices, and never a name that would leave `into`.
pub(crate) fn unpack(
    archive: &mut File,
    path: &Path,
    into: &Path,
    wanted: &dyn Fn(&str) -> bool,
    progress: &dyn Progress,
    task: &dyn Task,
) -> Result<BTreeMap<String, Unpacked>, FetchError> {
    let bad = |problem: String| FetchError::Archive { path: path.to_owned(), problem };
    let read = |error: io::Error| {
        bad(format!("cannot unpack it: {}", vprep_core::io_words::plain(&error)))
    };
    archive.rewind().map_err(read)?;
    let mut magic = [0; 2];
    let packed = archive.read_exact(&mut magic).is_ok() && magic == [0x1f, 0x8b];
    archive.rewind().map_err(read)?;
    let counted = io::BufReader::with_capacity(1 << 20, Counted { file: archive, task });
    let stream: Box<dyn Read + '_> =
        if packed { Box::new(MultiGzDecoder::new(counted)) } else { Box::new(counted) };
    let mut tar = Archive::new(stream);
    let mut members = BTreeMap::new();
    let mut buffer = vec![0; 1 << 20];
    for entry in tar.entries().map_err(read)? {
        progress.check()?;
        let mut entry = entry.map_err(read)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
        if !wanted(&name) || entry.header().entry_type() == EntryType::Directory {
            continue;
        }
        if !matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Continuous) {
            return Err(bad(format!("member `{name}` is no plain file; it is not unpacked")));
        }
        let below = paths::below(&name)
            .ok_or_else(|| bad(format!("member `{name}` would leave the directory")))?;
        space::check(into, entry.size())?;
        let target = into.join(below);
        let mut file = install::aside(&target)?;
        let (mut sha256, mut md5) = (Hasher::sha256(), Hasher::Md5(md5::Digest::new()));
        let mut bytes = 0;
        loop {
            progress.check()?;
            let count = entry.read(&mut buffer).map_err(read)?;
            if count == 0 {
                break;
            }
            file.write_all(&buffer[..count]).map_err(FetchError::io("write", &target))?;
            sha256.update(&buffer[..count]);
            md5.update(&buffer[..count]);
            bytes += count as u64;
        }
        let (sha256, md5) = (sha256.finish(), md5.finish());
        members.insert(name, Unpacked { file, bytes, sha256, md5 });
    }
    Ok(members)
}

/// Reports what was read.
struct Counted<'a> {
    file: &'a mut File,
    task: &'a dyn Task,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.task.advance(read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vprep_core::Silent;

    fn archive(build: impl FnOnce(&mut tar::Builder<Vec<u8>>)) -> File {
        let mut builder = tar::Builder::new(Vec::new());
        build(&mut builder);
        let bytes = builder.into_inner().expect("builds");
        let mut file = tempfile::tempfile().expect("a file");
        let mut packed = flate2::write::GzEncoder::new(&mut file, flate2::Compression::fast());
        packed.write_all(&bytes).and_then(|()| packed.try_finish()).expect("packs");
        drop(packed);
        file
    }

    fn header(name: &str, kind: EntryType, size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        // The library refuses to write such names, so they are written past it.
        let field = &mut header.as_old_mut().name;
        field[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        header
    }

    fn unpack_all(mut file: File, into: &Path) -> Result<BTreeMap<String, Unpacked>, FetchError> {
        unpack(&mut file, Path::new("x.tar.gz"), into, &|_| true, &Silent, &Silent)
    }

    #[test]
    fn wanted_members_come_out_whole_and_nothing_is_left_of_them() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut file = archive(|tar| {
            for (name, text) in [("./a/b.tsv", "1\tx\n"), ("c.tsv", "2\ty\n")] {
                let header = header(name, EntryType::Regular, text.len() as u64);
                tar.append(&header, text.as_bytes()).expect("appends");
            }
        });
        let wanted = |name: &str| name == "a/b.tsv";
        let path = Path::new("x.tar.gz");
        let members =
            unpack(&mut file, path, dir.path(), &wanted, &Silent, &Silent).expect("unpacks");
        assert_eq!(members.keys().collect::<Vec<_>>(), ["a/b.tsv"]);
        assert_eq!(members["a/b.tsv"].bytes, 4);
        drop(members);
        assert_eq!(std::fs::read_dir(dir.path().join("a")).expect("lists").count(), 0);
    }

    #[test]
    fn nothing_leaves_the_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let into = dir.path().join("into");
        for name in ["../evil", "/tmp/vprep-evil", "a/../../evil", "a\\..\\evil"] {
            let file = archive(|tar| {
                tar.append(&header(name, EntryType::Regular, 1), &b"x"[..]).expect("appends");
            });
            let error = unpack_all(file, &into).expect_err(name).to_string();
            assert!(error.contains("would leave the directory"), "{error}");
        }
        for kind in [EntryType::Symlink, EntryType::Link, EntryType::Char, EntryType::Fifo] {
            let file = archive(|tar| {
                let mut header = header("x", kind, 0);
                header.set_link_name("../evil").expect("sets");
                header.set_cksum();
                tar.append(&header, io::empty()).expect("appends");
            });
            let error = unpack_all(file, &into).expect_err("no file").to_string();
            assert!(error.contains("is no plain file"), "{error}");
        }
        assert!(!dir.path().join("evil").exists() && !Path::new("/tmp/vprep-evil").exists());
    }

    #[test]
    fn a_cut_archive_is_told() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = archive(|tar| {
            let data = vec![7; 100_000];
            tar.append(&header("x", EntryType::Regular, 100_000), &data[..]).expect("appends");
        });
        file.set_len(file.metadata().expect("stats").len() - 20).expect("cuts");
        let error = unpack_all(file, dir.path()).expect_err("cut").to_string();
        assert!(error.contains("cannot unpack it"), "{error}");
    }
}
