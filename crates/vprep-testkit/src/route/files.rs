//! `/files/…`: plain files, in the manner of S3.

use super::{Answer, FileAnswer, Routed};
use crate::http::Head;
use crate::hub::{State, lock};

pub(super) fn plain(state: &State, path: &str) -> Routed {
    let key = format!("files/{path}");
    let Some(file) = lock(&state.store).plain.get(path).cloned() else {
        return (Some(key), no_such_key());
    };
    let file = if state.rules.is_new_version(&key) { file.altered() } else { file };
    let answer = FileAnswer {
        head: Head::new(200).with("Content-Type", file.kind.clone()),
        etag: file.sent_etag(),
        modified: file.modified,
        content: file.content,
    };
    (Some(key), Answer::File(answer))
}

pub(super) fn no_such_key() -> Answer {
    let head = Head::new(404).with("Content-Type", "application/xml");
    let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code>\
        <Message>The specified key does not exist.</Message></Error>";
    Answer::Text(head, text.to_owned())
}
