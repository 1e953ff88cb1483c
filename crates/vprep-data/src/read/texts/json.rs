//! `.jsonl`: a row is an object on a line.

use super::columns::{Columns, joined};
use super::lines::Lines;
use super::{BATCH_BYTES, BATCH_ROWS, IdType, Ids, Problem, Source, TextOptions};
use arrow::array::StringArray;
use serde_json::{Map, Value};

struct Json {
    lines: Lines,
    text: String,
    id: Option<String>,
    title: Option<String>,
    ids: IdType,
    first: Option<Map<String, Value>>,
}

pub(super) fn open(
    mut lines: Lines,
    options: &TextOptions,
) -> Result<(IdType, Box<dyn Source>), Problem> {
    let Some(first) = next_object(&mut lines)? else { return Err(Problem::NoTexts) };
    let usable = |value: &Value| value.is_string() || value.is_i64() || value.is_null();
    let fields = first.iter().filter(|(_, value)| usable(value));
    let mut names: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
    // Whether serde_json keeps the order of the file depends on what else is compiled in.
    names.sort_unstable();
    let columns = Columns::choose(&names, options)?;
    let name = |place: usize| names[place].to_owned();
    let id = columns.id.map(name);
    let ids = match &id {
        None => IdType::RowNumber,
        Some(id) if first[id].is_i64() => IdType::Int,
        Some(_) => IdType::Text,
    };
    let (text, title) = (name(columns.text), columns.title.map(name));
    Ok((ids, Box::new(Json { text, id, title, ids, first: Some(first), lines })))
}

/// The object on the next line that is not blank.
fn next_object(lines: &mut Lines) -> Result<Option<Map<String, Value>>, Problem> {
    loop {
        let number = lines.number() + 1;
        let Some(line) = lines.next()? else { return Ok(None) };
        if line.trim().is_empty() {
            continue;
        }
        return serde_json::from_str(line).map(Some).map_err(|error| {
            let problem = format!("is no JSON object: {error}");
            Problem::Line { line: number, problem }
        });
    }
}

impl Json {
    fn row(&self, object: &Map<String, Value>, ids: &mut Found) -> Result<String, String> {
        let string = |name: &str| match object.get(name) {
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(_) => Err(format!("its `{name}` is no string")),
            None => Err(format!("has no `{name}`")),
        };
        if let Some(name) = &self.id {
            match (self.ids, object.get(name)) {
                (IdType::Int, Some(id)) if id.is_i64() => ids.numbers.extend(id.as_i64()),
                (IdType::Int, Some(_)) => return Err(format!("its `{name}` is no integer")),
                _ => ids.texts.push(string(name)?.to_owned()),
            }
        }
        let title = match &self.title {
            Some(name) if object.get(name).is_some_and(|title| !title.is_null()) => {
                Some(string(name)?)
            }
            _ => None,
        };
        Ok(joined(title, string(&self.text)?))
    }
}

#[derive(Default)]
struct Found {
    numbers: Vec<i64>,
    texts: Vec<String>,
}

impl Source for Json {
    fn next(&mut self) -> Result<Option<(Vec<String>, Ids)>, Problem> {
        let mut texts = Vec::new();
        let mut ids = Found::default();
        let mut bytes = 0;
        while texts.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let object = match self.first.take() {
                Some(first) => first,
                None => match next_object(&mut self.lines)? {
                    Some(object) => object,
                    None => break,
                },
            };
            let text = self.row(&object, &mut ids);
            let line = self.lines.number();
            let text = text.map_err(|problem| Problem::Line { line, problem })?;
            bytes += text.len();
            texts.push(text);
        }
        let ids = match self.ids {
            IdType::RowNumber => Ids::RowNumber,
            IdType::Int => Ids::Int(ids.numbers),
            IdType::Text => Ids::Text(StringArray::from_iter_values(ids.texts)),
        };
        Ok((!texts.is_empty()).then_some((texts, ids)))
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}
