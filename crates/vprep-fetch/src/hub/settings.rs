//! What the environment says about the hub, as Python's `huggingface_hub` reads it.

use crate::Secret;
use reqwest::Url;
use std::env;
use std::fs;
use std::path::PathBuf;

const HUB: &str = "https://huggingface.co";

/// The hub, its token and its cache.
#[derive(Clone, Debug)]
pub struct HubSettings {
    /// `HF_ENDPOINT`, else <https://huggingface.co>.
    pub endpoint: Url,
    /// `HF_TOKEN`, else the file `HF_TOKEN_PATH` or `$HF_HOME/token`, unless
    /// `HF_HUB_DISABLE_IMPLICIT_TOKEN` is set.
    pub token: Option<Secret>,
    /// `HF_HUB_CACHE`, else `HUGGINGFACE_HUB_CACHE`, else `$HF_HOME/hub`; `HF_HOME` is
    /// `$XDG_CACHE_HOME/huggingface` or `~/.cache/huggingface` if it is not set.
    pub cache: PathBuf,
    /// `HF_HUB_OFFLINE`.
    pub offline: bool,
    /// Whether to go through xet where the hub offers it: unless `HF_HUB_DISABLE_XET` is set.
    pub xet: bool,
}

impl HubSettings {
    /// Reads the environment. An endpoint that is no address counts as none.
    pub fn from_env() -> Self {
        let set = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let flag = |name| {
            let value = set(name).unwrap_or_default().to_ascii_uppercase();
            matches!(value.as_str(), "1" | "ON" | "YES" | "TRUE")
        };
        let endpoint = set("HF_ENDPOINT").and_then(|text| Url::parse(&text).ok());
        let endpoint = endpoint.filter(Url::has_host);
        let token = || {
            if let Some(token) = set("HF_TOKEN").and_then(|text| Secret::new(&text)) {
                return Some(token);
            }
            let path =
                set("HF_TOKEN_PATH").map_or_else(|| hf_hub::hf_home().join("token"), PathBuf::from);
            fs::read_to_string(path).ok().and_then(|text| Secret::new(&text))
        };
        Self {
            endpoint: endpoint.unwrap_or_else(|| Url::parse(HUB).expect("an address")),
            token: if flag("HF_HUB_DISABLE_IMPLICIT_TOKEN") { None } else { token() },
            cache: hf_hub::resolve_cache_dir(),
            offline: flag("HF_HUB_OFFLINE"),
            xet: !flag("HF_HUB_DISABLE_XET"),
        }
    }
}
