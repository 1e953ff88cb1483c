//! Tokens and passwords reach no message, record or debug text.

use crate::util::{World, token};
use std::fs;
use vprep_testkit::{Fault, PlainFile, Repo};

#[test]
fn nothing_tells_a_secret() {
    let world = World::new();
    world.hub.add_file("a.bin", PlainFile::new("text"));
    world.hub.add_repo(Repo::dataset("acme/words").file("a.txt", "a"));
    let mut options = world.options();
    options.hub.token = token("hf_hunter2");
    let url =
        world.hub.file_url("a.bin").replace("http://", "http://user:hunter2@") + "?key=hunter2";
    let mut texts = vec![format!("{options:?}")];
    let fetched = world.fetch_with(&url, &options).expect("fetches");
    texts.push(format!("{fetched:?}"));
    fs::remove_file(world.target().join("a.bin")).expect("removes");
    for fault in
        [Fault::Status { code: 403 }, Fault::NoResponse, Fault::RedirectLoop, Fault::HtmlPage]
    {
        world.hub.clear_faults();
        world.hub.fault("files/a.bin", fault.clone());
        world.hub.fault("/api/*", fault);
        for source in [url.as_str(), "hf://datasets/acme/words"] {
            let error = world.fetch_with(source, &options).expect_err("fails");
            texts.push(format!("{error} {error:?}"));
        }
    }
    for entry in fs::read_dir(world.target()).expect("lists").flatten() {
        texts.push(fs::read_to_string(entry.path()).unwrap_or_default());
        texts.push(entry.file_name().to_string_lossy().into_owned());
    }
    for text in texts {
        assert!(!text.contains("hunter2"), "{text}");
    }
}
