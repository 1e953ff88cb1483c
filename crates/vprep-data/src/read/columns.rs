//! Which columns of a table are the vectors, the ids, and the rest.

use super::{IdType, Problem, ReadOptions};
use arrow::datatypes::{DataType, Field, Fields};

/// The columns of a table by their use, as indices into its schema.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) vector: usize,
    pub(super) id: Option<usize>,
    /// Other columns that are read.
    pub(super) kept: Vec<usize>,
    /// Columns that are not read.
    pub(super) left_out: Vec<usize>,
}

/// The names of an id column, the first that is there.
const ID_NAMES: [&str; 2] = ["id", "_id"];

impl Choice {
    pub(super) fn new(fields: &Fields, options: &ReadOptions) -> Result<Self, Problem> {
        let vector = match &options.vector_column {
            Some(name) => named_vector(fields, name)?,
            None => only_vector(fields)?,
        };
        let id = match &options.id_column {
            Some(name) => Some(find(fields, name)?),
            None => ID_NAMES
                .iter()
                .filter_map(|name| position(fields, name))
                .find(|&column| column != vector),
        };
        if let Some(column) =
            id.map(|id| &fields[id]).filter(|id| id_type(id.data_type()).is_none())
        {
            let (found, column) = (type_name(column.data_type()), column.name().clone());
            return Err(Problem::IdType { column, found });
        }
        let rest = (0..fields.len()).filter(|&column| column != vector && Some(column) != id);
        let (kept, left_out) = rest.partition(|&column| is_scalar(fields[column].data_type()));
        Ok(Self { vector, id, kept, left_out })
    }
}

fn named_vector(fields: &Fields, name: &str) -> Result<usize, Problem> {
    let column = find(fields, name)?;
    let found = fields[column].data_type();
    match list_item(found) {
        Some(item) if is_vector_value(item) => Ok(column),
        Some(item) if item.is_numeric() => {
            Err(Problem::ValueType { column: name.to_owned(), found: type_name(found) })
        }
        _ => Err(Problem::NotVectors { column: name.to_owned(), found: type_name(found) }),
    }
}

fn only_vector(fields: &Fields) -> Result<usize, Problem> {
    let can_be = |field: &Field| list_item(field.data_type()).is_some_and(is_vector_value);
    let vectors: Vec<usize> = (0..fields.len()).filter(|&i| can_be(&fields[i])).collect();
    match vectors[..] {
        [only] => Ok(only),
        [] => Err(Problem::NoVectorColumn { columns: list(fields.iter().map(AsRef::as_ref)) }),
        _ => {
            let columns = list(vectors.iter().map(|&i| fields[i].as_ref()));
            Err(Problem::SeveralVectorColumns { columns })
        }
    }
}

fn position(fields: &Fields, name: &str) -> Option<usize> {
    fields.iter().position(|field| field.name() == name)
}

fn find(fields: &Fields, name: &str) -> Result<usize, Problem> {
    position(fields, name).ok_or_else(|| Problem::MissingColumn {
        column: name.to_owned(),
        columns: list(fields.iter().map(AsRef::as_ref)),
    })
}

/// What ids a column of this type holds, if any.
pub(super) fn id_type(found: &DataType) -> Option<IdType> {
    match found {
        DataType::Utf8 => Some(IdType::Text),
        _ if found.is_integer() => Some(IdType::Int),
        _ => None,
    }
}

fn list_item(found: &DataType) -> Option<&DataType> {
    match found {
        DataType::List(item) => Some(item.data_type()),
        _ => None,
    }
}

fn is_vector_value(item: &DataType) -> bool {
    use DataType::{Float16, Float32, Float64, Int8, UInt8};
    matches!(item, Float16 | Float32 | Float64 | Int8 | UInt8)
}

fn is_scalar(found: &DataType) -> bool {
    match found {
        DataType::Boolean | DataType::Utf8 => true,
        DataType::Interval(_) => false,
        _ => found.is_primitive(),
    }
}

/// Columns with their types, in one line.
fn list<'a>(columns: impl ExactSizeIterator<Item = &'a Field>) -> String {
    const SHOWN: usize = 20;
    let more = columns.len().saturating_sub(SHOWN);
    let mut parts: Vec<String> = columns
        .take(SHOWN)
        .map(|column| format!("`{}` {}", column.name(), type_name(column.data_type())))
        .collect();
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    parts.join(", ")
}

/// A type as users of tables call it.
fn type_name(found: &DataType) -> String {
    match found {
        DataType::Utf8 => "string".to_owned(),
        DataType::List(item) => format!("list<{}>", type_name(item.data_type())),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::Map(..) => "map".to_owned(),
        _ => found.to_string().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn list_of(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(item, true)))
    }

    fn table(columns: &[(&str, DataType)]) -> Fields {
        columns.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect()
    }

    fn choose(fields: &Fields, vector: Option<&str>, id: Option<&str>) -> Result<Choice, String> {
        let options = ReadOptions {
            vector_column: vector.map(str::to_owned),
            id_column: id.map(str::to_owned),
            ..Default::default()
        };
        Choice::new(fields, &options).map_err(|problem| problem.to_string())
    }

    #[test]
    fn the_only_list_of_numbers_and_the_usual_id_are_found() {
        let fields = table(&[
            ("neighbors", list_of(DataType::Int64)),
            ("_id", DataType::Utf8),
            ("title", DataType::Utf8),
            ("emb", list_of(DataType::Float64)),
            ("raw", DataType::Binary),
        ]);
        let mut choice = Choice { vector: 3, id: Some(1), kept: vec![2], left_out: vec![0, 4] };
        assert_eq!(choose(&fields, None, None), Ok(choice));
        choice = Choice { vector: 3, id: Some(2), kept: vec![1], left_out: vec![0, 4] };
        assert_eq!(choose(&fields, Some("emb"), Some("title")), Ok(choice));
        let both = table(&[("_id", DataType::Int8), ("id", DataType::UInt64)]);
        let fields =
            both.iter().chain(&table(&[("v", list_of(DataType::Int8))])).cloned().collect();
        let choice = choose(&fields, None, None).expect("chooses");
        assert_eq!((choice.id, choice.kept), (Some(1), vec![0]));
    }

    #[test]
    fn what_cannot_be_chosen_is_listed_with_its_type() {
        let fields = table(&[
            ("id", DataType::Float64),
            ("day", DataType::Date32),
            ("a", list_of(DataType::Float32)),
            ("b", list_of(DataType::UInt8)),
            ("n", list_of(DataType::Int64)),
            ("deep", list_of(list_of(DataType::Float32))),
        ]);
        let error = |vector, id| choose(&fields, vector, id).expect_err("no choice");
        let all = "`id` float64, `day` date32, `a` list<float32>, `b` list<uint8>, \
                   `n` list<int64>, `deep` list<list<float32>>";
        let types = "lists of float16, float32, float64, int8 or uint8";
        assert_eq!(
            error(None, None),
            "several columns may hold the vectors: `a` list<float32>, `b` list<uint8>; choose one \
             with --vector-column"
        );
        assert_eq!(error(Some("c"), None), format!("has no column `c`; its columns are {all}"));
        assert_eq!(
            error(Some("a"), Some("c")),
            format!("has no column `c`; its columns are {all}")
        );
        assert_eq!(
            error(Some("day"), None),
            format!("column `day` is non-numeric: its type is date32, and vectors are {types}")
        );
        assert_eq!(
            error(Some("n"), None),
            format!("column `n` is of type list<int64>, and vectors are {types}")
        );
        assert_eq!(
            error(Some("a"), None),
            "column `id` cannot be the id: its type is float64, and ids are integers or strings; \
             choose another with --id-column"
        );
        let many: Vec<(String, DataType)> =
            (0..23).map(|i| (format!("c{i}"), DataType::Boolean)).collect();
        let many: Vec<(&str, DataType)> = many.iter().map(|(n, t)| (&**n, t.clone())).collect();
        let none = choose(&table(&many), None, None).expect_err("no vectors");
        assert!(none.starts_with(&format!(
            "no column holds vectors ({types}); its columns are `c0` boolean, "
        )));
        assert!(none.ends_with("`c19` boolean, and 3 more"), "{none}");
    }
}
