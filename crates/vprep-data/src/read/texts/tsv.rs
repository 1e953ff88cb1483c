//! `.tsv` and `.txt`: a row is a line.

use super::columns::{Columns, joined};
use super::lines::Lines;
use super::{BATCH_BYTES, BATCH_ROWS, IdType, Ids, Problem, Source, TextOptions};
use arrow::array::StringArray;

/// How a line is cut.
enum Cut {
    /// It is the text.
    Whole,
    /// The id goes to the first tab, the text is the rest.
    IdAndText,
    /// Fields at these places, of so many.
    Fields { columns: Columns, count: usize },
}

struct Tsv {
    lines: Lines,
    cut: Cut,
    /// A first line that is a row.
    first: Option<String>,
}

/// A file whose lines are texts.
pub(super) fn open_plain(
    lines: Lines,
    options: &TextOptions,
) -> Result<(IdType, Box<dyn Source>), Problem> {
    let named = [&options.text_column, &options.id_column, &options.title_column];
    if let Some(column) = named.into_iter().flatten().next() {
        return Err(Problem::MissingColumn {
            column: column.clone(),
            columns: "none, each line is a text".to_owned(),
        });
    }
    Ok((IdType::RowNumber, Box::new(Tsv { lines, cut: Cut::Whole, first: None })))
}

pub(super) fn open(
    mut lines: Lines,
    options: &TextOptions,
) -> Result<(IdType, Box<dyn Source>), Problem> {
    let Some(line) = lines.next()?.map(str::to_owned) else { return Err(Problem::NoTexts) };
    let fields: Vec<&str> = line.split('\t').collect();
    let given = [&options.text_column, &options.id_column, &options.title_column];
    let given: Vec<&String> = given.into_iter().flatten().collect();
    let by_number = given.iter().all(|name| name.parse::<usize>().is_ok());
    let (cut, is_row) = if given.is_empty() {
        match fields.len() {
            1 => (Cut::Whole, true),
            2 => (Cut::IdAndText, true),
            count => return Err(Problem::WhichField { count }),
        }
    } else if by_number {
        let numbers: Vec<String> = (1..=fields.len()).map(|n| n.to_string()).collect();
        let mut names: Vec<&str> = numbers.iter().map(String::as_str).collect();
        if options.text_column.is_none() && fields.len() == 2 {
            // The other one of two.
            let other = if given[0] == "1" { 1 } else { 0 };
            names[other] = "text";
        }
        (Cut::Fields { columns: Columns::choose(&names, options)?, count: fields.len() }, true)
    } else {
        (Cut::Fields { columns: Columns::choose(&fields, options)?, count: fields.len() }, false)
    };
    let ids = match &cut {
        Cut::Whole => IdType::RowNumber,
        Cut::Fields { columns: Columns { id: None, .. }, .. } => IdType::RowNumber,
        _ => IdType::Text,
    };
    let first = is_row.then_some(line);
    Ok((ids, Box::new(Tsv { lines, cut, first })))
}

impl Source for Tsv {
    fn next(&mut self) -> Result<Option<(Vec<String>, Ids)>, Problem> {
        let mut texts = Vec::new();
        let mut ids: Vec<String> = Vec::new();
        let mut bytes = 0;
        while texts.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let first = self.first.take();
            let number = self.lines.number();
            let line = match &first {
                Some(first) => first.as_str(),
                None => match self.lines.next()? {
                    Some(line) => line,
                    None => break,
                },
            };
            let number = if first.is_some() { number } else { number + 1 };
            bytes += line.len();
            match &self.cut {
                Cut::Whole => texts.push(line.to_owned()),
                Cut::IdAndText => {
                    let Some((id, text)) = line.split_once('\t') else {
                        let problem = "has no tab between id and text".to_owned();
                        return Err(Problem::Line { line: number, problem });
                    };
                    ids.push(id.to_owned());
                    texts.push(text.to_owned());
                }
                Cut::Fields { columns, count } => {
                    let fields: Vec<&str> = line.split('\t').collect();
                    if fields.len() != *count {
                        let problem = format!("has {} fields, not {count}", fields.len());
                        return Err(Problem::Line { line: number, problem });
                    }
                    ids.extend(columns.id.map(|id| fields[id].to_owned()));
                    let title = columns.title.map(|title| fields[title]);
                    texts.push(joined(title, fields[columns.text]));
                }
            }
        }
        let ids = match ids.is_empty() {
            true => Ids::RowNumber,
            false => Ids::Text(StringArray::from_iter_values(ids)),
        };
        Ok((!texts.is_empty()).then_some((texts, ids)))
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}
