//! What computes embeddings.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// What computes embeddings, written `cpu`, `cuda` or `cuda:N`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// The NVIDIA GPU of this number.
    Cuda(u32),
}

impl Device {
    /// Whether it is the processor.
    pub fn is_cpu(&self) -> bool {
        *self == Self::Cpu
    }

    /// The same without the number, which says only which of a machine's GPUs it is.
    #[must_use]
    pub fn unnumbered(self) -> Self {
        match self {
            Self::Cpu => Self::Cpu,
            Self::Cuda(_) => Self::Cuda(0),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(0) => f.write_str("cuda"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = match text {
            "cpu" => return Ok(Self::Cpu),
            "cuda" => Some(0),
            other => other.strip_prefix("cuda:").and_then(|number| number.parse().ok()),
        };
        number
            .map(Self::Cuda)
            .ok_or_else(|| format!("{text:?} is no device; give cpu, cuda or cuda:N"))
    }
}

impl TryFrom<String> for Device {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> Self {
        device.to_string()
    }
}

impl JsonSchema for Device {
    fn schema_name() -> Cow<'static, str> {
        "Device".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What computes embeddings, written `cpu`, `cuda` or `cuda:N`.",
            "type": "string",
            "pattern": "^(cpu|cuda(:[0-9]+)?)$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_as_they_are_written() {
        for text in ["cpu", "cuda", "cuda:3"] {
            assert_eq!(text.parse::<Device>().map(String::from), Ok(text.to_owned()));
        }
        assert_eq!("cuda:0".parse(), Ok(Device::Cuda(0)));
        for bad in ["", "gpu", "cuda:", "cuda:-1", "CPU"] {
            let error = bad.parse::<Device>().expect_err("no device");
            assert!(error.ends_with("give cpu, cuda or cuda:N"), "{error}");
        }
        assert_eq!(Device::Cuda(3).unnumbered(), Device::Cuda(0));
    }
}
