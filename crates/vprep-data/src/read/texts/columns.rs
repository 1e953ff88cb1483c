//! Which columns hold texts and ids, by the names that people use.

use super::{Problem, TextOptions};

const TEXT_NAMES: [&str; 11] = [
    "text", "passage", "contents", "content", "body", "document", "sentence", "gloss", "query",
    "question", "abstract",
];
const ID_NAMES: [&str; 9] =
    ["id", "_id", "docid", "doc_id", "pid", "passage_id", "qid", "query_id", "query-id"];

/// The columns of texts, ids and titles, as places among `names`.
pub(super) struct Columns {
    pub(super) text: usize,
    pub(super) id: Option<usize>,
    pub(super) title: Option<usize>,
}

impl Columns {
    /// Chooses among the names of the columns that hold strings or integers.
    pub(super) fn choose(names: &[&str], options: &TextOptions) -> Result<Self, Problem> {
        let list = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let find = |wanted: &String| {
            names
                .iter()
                .position(|name| name == wanted)
                .ok_or_else(|| Problem::MissingColumn { column: wanted.clone(), columns: list() })
        };
        let text = match &options.text_column {
            Some(name) => find(name)?,
            None => {
                let known = |name: &str| TEXT_NAMES.contains(&name);
                let found: Vec<usize> = (0..names.len()).filter(|&i| known(names[i])).collect();
                match found[..] {
                    [only] => only,
                    _ => return Err(Problem::WhichText { columns: list() }),
                }
            }
        };
        let id = match &options.id_column {
            Some(name) => Some(find(name)?),
            None => ID_NAMES.iter().find_map(|id| names.iter().position(|name| name == id)),
        };
        let title = options.title_column.as_ref().map(find).transpose()?;
        Ok(Self { text, id, title })
    }
}

/// The text with its title, if it has one.
pub(super) fn joined(title: Option<&str>, text: &str) -> String {
    match title {
        Some(title) if !title.is_empty() => format!("{title} {text}"),
        _ => text.to_owned(),
    }
}
