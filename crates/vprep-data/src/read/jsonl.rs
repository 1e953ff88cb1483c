//! `.jsonl`: a vector is an array of numbers on a line, or such an array in an object on a line.
//!
//! Blank lines are skipped. Of an object, the vector and the id are read and nothing else. The file is
//! read twice, since its rows must be counted before the first is given out.

use super::batch::{Batch, Ids, batch_rows};
use super::convert::overflows;
use super::reader::{Layout, Opened, Source};
use super::texts::Lines;
use super::{Format, IdType, MAX_DIM, Problem, ReadOptions};
use arrow::array::StringArray;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::path::Path;
use vprep_core::RowList;

/// What a line holds.
#[derive(Clone)]
enum Shape {
    Array,
    Object { vector: String, id: Option<String> },
}

struct Json {
    lines: Lines,
    shape: Shape,
    ids: IdType,
    dim: usize,
}

pub(super) fn open(path: &Path, options: &ReadOptions) -> Opened {
    let mut lines = Lines::open(path)?;
    let Some(first) = next_line(&mut lines)?.map(str::to_owned) else {
        return Err(Problem::Empty { rows: 0, dim: 0 });
    };
    let line = lines.number();
    let value = serde_json::from_str(&first).map_err(|error| not_json(line, &error))?;
    let (shape, ids, left_out) = shape(value, line, options)?;
    let vector = row(&first, &shape, line)?.vector;
    let dim = vector.len();
    if dim as u64 > MAX_DIM {
        return Err(Problem::Dimension { format: Format::Jsonl, dim: dim as u64 });
    }
    let mut rows = 1;
    while next_line(&mut lines)?.is_some() {
        rows += 1;
    }
    let layout = Layout { rows, dim, ids, columns: Vec::new(), left_out };
    Ok((layout, Box::new(Json { lines: Lines::open(path)?, shape, ids, dim })))
}

/// The next line that is not blank.
fn next_line(lines: &mut Lines) -> Result<Option<&str>, Problem> {
    // In two steps, since the borrow of a line that is returned lasts.
    loop {
        match lines.next()? {
            None => return Ok(None),
            Some(line) if line.trim().is_empty() => {}
            Some(_) => break,
        }
    }
    lines.last().map(Some)
}

/// What lines hold, by the first of them; the kind of its id; and what is not read.
fn shape(
    first: Value,
    line: u64,
    options: &ReadOptions,
) -> Result<(Shape, IdType, Vec<String>), Problem> {
    let named = options.vector_column.as_ref().or(options.id_column.as_ref());
    let fields = match (first, named) {
        (Value::Array(_), None) => return Ok((Shape::Array, IdType::RowNumber, Vec::new())),
        (Value::Array(_), Some(column)) => {
            let problem = format!("is an array, which has no `{column}`; leave out the name");
            return Err(Problem::Line { line, problem });
        }
        (Value::Object(fields), _) => fields,
        _ => {
            let problem = "is neither an array of numbers nor an object".to_owned();
            return Err(Problem::Line { line, problem });
        }
    };
    let vector = vector_of(&fields, options)?;
    let id = match &options.id_column {
        Some(name) if fields.contains_key(name) => Some(name.clone()),
        Some(name) => return Err(missing(name, &fields)),
        None => {
            let usual = ["id", "_id"].into_iter().find(|name| fields.contains_key(*name));
            usual.filter(|name| *name != vector).map(str::to_owned)
        }
    };
    let ids = match id.as_ref().map(|id| (id, &fields[id])) {
        None => IdType::RowNumber,
        Some((_, Value::String(_))) => IdType::Text,
        Some((_, value)) if value.is_i64() => IdType::Int,
        Some((column, value)) => {
            let (column, found) = (column.clone(), kind(value).to_owned());
            return Err(Problem::IdType { column, found });
        }
    };
    let mut left_out: Vec<String> = fields
        .keys()
        .filter(|name| **name != vector && Some(*name) != id.as_ref())
        .cloned()
        .collect();
    // Whether serde_json keeps the order of the file depends on what else is compiled in.
    left_out.sort_unstable();
    Ok((Shape::Object { vector, id }, ids, left_out))
}

fn vector_of(fields: &Map<String, Value>, options: &ReadOptions) -> Result<String, Problem> {
    let numbers = |value: &Value| {
        value
            .as_array()
            .is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_number))
    };
    if let Some(name) = &options.vector_column {
        return match fields.get(name) {
            None => Err(missing(name, fields)),
            Some(value) if numbers(value) => Ok(name.clone()),
            Some(value) => {
                let (column, found) = (name.clone(), kind(value).to_owned());
                Err(Problem::NotVectors { column, found })
            }
        };
    }
    let mut found: Vec<&String> =
        fields.iter().filter(|(_, value)| numbers(value)).map(|(name, _)| name).collect();
    found.sort_unstable();
    match found[..] {
        [only] => Ok(only.clone()),
        [] => Err(Problem::NoVectorColumn { columns: listed(fields) }),
        _ => {
            let columns = found.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
            Err(Problem::SeveralVectorColumns { columns: columns.join(", ") })
        }
    }
}

fn missing(name: &str, fields: &Map<String, Value>) -> Problem {
    Problem::MissingColumn { column: name.to_owned(), columns: listed(fields) }
}

/// Fields with their kinds, in one line.
fn listed(fields: &Map<String, Value>) -> String {
    let mut parts: Vec<String> =
        fields.iter().map(|(name, value)| format!("`{name}` {}", kind(value))).collect();
    parts.sort_unstable();
    parts.join(", ")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn not_json(line: u64, error: &serde_json::Error) -> Problem {
    Problem::Line { line, problem: format!("is no row of vectors: {error}") }
}

/// What a line says.
struct Row {
    vector: Vec<f64>,
    id: Option<Value>,
}

fn row(text: &str, shape: &Shape, line: u64) -> Result<Row, Problem> {
    let row = match shape {
        Shape::Array => serde_json::from_str(text).map(|vector| Row { vector, id: None }),
        Shape::Object { vector, id } => {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            let fields = Fields { vector, id: id.as_deref() };
            let row = fields.deserialize(&mut deserializer);
            row.and_then(|row| deserializer.end().map(|()| row))
        }
    };
    let row = row.map_err(|error| not_json(line, &error))?;
    match row.vector.is_empty() {
        true => Err(Problem::Line { line, problem: "the vector is empty".to_owned() }),
        false => Ok(row),
    }
}

/// Reads two fields of an object and passes over the others.
struct Fields<'a> {
    vector: &'a str,
    id: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = Row;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Row, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", self.vector)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
        let (mut vector, mut id) = (None, None);
        while let Some(name) = map.next_key::<String>()? {
            if name == self.vector {
                vector = Some(map.next_value()?);
            } else if Some(name.as_str()) == self.id {
                id = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let absent = || serde::de::Error::custom(format!("it has no `{}`", self.vector));
        Ok(Row { vector: vector.ok_or_else(absent)?, id })
    }
}

impl Source for Json {
    fn next(&mut self, first_row: u64) -> Result<Option<Batch>, Problem> {
        let (mut vectors, mut rows, most) = (Vec::new(), 0, batch_rows(self.dim));
        let (mut numbers, mut texts, mut overflowed) = (Vec::new(), Vec::new(), RowList::default());
        while rows < most {
            let Some(text) = next_line(&mut self.lines)?.map(str::to_owned) else { break };
            let line = self.lines.number();
            let found = row(&text, &self.shape, line)?;
            let at = first_row + rows as u64;
            if found.vector.len() != self.dim {
                let (length, expected) = (found.vector.len() as i64, self.dim as u64);
                return Err(Problem::Ragged { row: at, length, expected });
            }
            if found.vector.iter().any(|&value| overflows(value)) {
                overflowed.push(at);
            }
            vectors.extend(found.vector.iter().map(|&value| value as f32));
            let problem = match (self.ids, found.id) {
                (IdType::RowNumber, _) => None,
                (IdType::Int, Some(Value::Number(id))) if id.is_i64() => {
                    numbers.extend(id.as_i64());
                    None
                }
                (IdType::Text, Some(Value::String(id))) => {
                    texts.push(id);
                    None
                }
                (IdType::Int, _) => Some("its id is no integer of 64 bits, as that of row 0 is"),
                (IdType::Text, _) => Some("its id is no string, as that of row 0 is"),
            };
            if let Some(problem) = problem {
                return Err(Problem::Line { line, problem: problem.to_owned() });
            }
            rows += 1;
        }
        if !overflowed.is_empty() {
            return Err(Problem::Overflow { rows: overflowed });
        }
        if rows == 0 {
            return Ok(None);
        }
        let ids = match self.ids {
            IdType::RowNumber => Ids::RowNumber,
            IdType::Int => Ids::Int(numbers),
            IdType::Text => Ids::Text(StringArray::from(texts)),
        };
        Ok(Some(Batch { first_row, rows, vectors, ids, columns: Vec::new() }))
    }
}
