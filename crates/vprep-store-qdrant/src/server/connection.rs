//! Calls to the server and what their errors mean.

use super::NAME;
use super::settings::Settings;
use qdrant_client::{Qdrant, QdrantError};
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use vprep_core::Progress;
use vprep_store::StoreError;

/// How long the server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the server may take to say its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the server may take to answer, which includes making the files of a collection and
/// writing a batch to its disk.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// How often the user is asked whether to go on while the server works.
const POLL: Duration = Duration::from_millis(100);

/// Status codes of gRPC, from its documentation.
mod code {
    pub(super) const CANCELLED: i32 = 1;
    pub(super) const DEADLINE_EXCEEDED: i32 = 4;
    pub(super) const NOT_FOUND: i32 = 5;
    pub(super) const PERMISSION_DENIED: i32 = 7;
    pub(super) const UNAVAILABLE: i32 = 14;
    pub(super) const UNAUTHENTICATED: i32 = 16;
}

/// How the client begins the message of a status that it makes itself.
const NO_CONNECTION: &str = "Failed to connect to";

/// A client with threads of its own. It connects at the first call.
pub(super) struct Connection {
    client: Qdrant,
    runtime: Runtime,
    place: String,
    api_key: Option<String>,
}

/// What a call failed with.
pub(super) enum CallError {
    /// There is no such collection.
    NotFound,
    /// All else.
    Other(StoreError),
}

impl From<CallError> for StoreError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NotFound => StoreError::Engine {
                store: NAME,
                operation: "finding the collection",
                message: "the server does not have it any more".to_owned(),
            },
            CallError::Other(error) => error,
        }
    }
}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> Self {
        Self::Other(error)
    }
}

impl Connection {
    /// Takes the settings if they can be used.
    pub(super) fn new(settings: &Settings) -> Result<Self, StoreError> {
        let checked = settings.check()?;
        let client = Qdrant::from_url(checked.url)
            .api_key(checked.api_key)
            .connect_timeout(CONNECT_TIMEOUT)
            // Its own limit covers the answer, not the connection.
            .timeout(2 * ANSWER_TIMEOUT)
            // It would print what it finds.
            .skip_compatibility_check()
            .build()
            .map_err(|error| failed("setup", error.to_string()))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(rayon::current_num_threads().min(4))
            .thread_name(NAME)
            .enable_all()
            .build()
            .map_err(|error| failed("setup", error.to_string()))?;
        let (place, api_key) = (checked.place.to_owned(), checked.api_key.map(str::to_owned));
        Ok(Self { client, runtime, place, api_key })
    }

    /// Makes a call and waits for it, as long as the user likes to.
    pub(super) fn call<'a, T, F>(
        &'a self,
        operation: &'static str,
        progress: &dyn Progress,
        call: impl FnOnce(&'a Qdrant) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, QdrantError>>,
    {
        self.call_within(ANSWER_TIMEOUT, operation, progress, call)
    }

    /// The version of the server, as it says itself.
    pub(super) fn version(&self, progress: &dyn Progress) -> Result<String, StoreError> {
        let operation = "asking for its version";
        let reply = self.call_within(VERSION_TIMEOUT, operation, progress, Qdrant::health_check)?;
        Ok(reply.version)
    }

    fn call_within<'a, T, F>(
        &'a self,
        limit: Duration,
        operation: &'static str,
        progress: &dyn Progress,
        call: impl FnOnce(&'a Qdrant) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, QdrantError>>,
    {
        let started = Instant::now();
        self.runtime.block_on(async {
            let mut answer = pin!(call(&self.client));
            loop {
                match tokio::time::timeout(POLL, &mut answer).await {
                    Ok(answer) => return answer.map_err(|error| self.error(operation, &error)),
                    Err(_) => progress.check().map_err(StoreError::from)?,
                }
                if started.elapsed() > limit {
                    let message = format!("no answer in {} s while {operation}", limit.as_secs());
                    return Err(self.unreachable(message));
                }
            }
        })
    }

    /// What an error of the client means. Its own text is not used: it holds the headers of the
    /// answer.
    fn error(&self, operation: &'static str, error: &QdrantError) -> CallError {
        let (QdrantError::ResponseError { status }
        | QdrantError::ResourceExhaustedError { status, .. }) = error
        else {
            return CallError::Other(failed(operation, self.without_key(&error.to_string())));
        };
        let message = self.without_key(status.message());
        let message = match status.code() as i32 {
            code::NOT_FOUND => return CallError::NotFound,
            code::UNAUTHENTICATED | code::PERMISSION_DENIED => {
                format!("it does not let us in ({message}); set VPREP_QDRANT_API_KEY")
            }
            code::CANCELLED | code::DEADLINE_EXCEEDED | code::UNAVAILABLE => {
                format!("lost while {operation} ({message})")
            }
            _ if message.starts_with(NO_CONNECTION) => {
                let cause = if message.contains("refused") {
                    "connection refused"
                } else {
                    "no connection"
                };
                format!("{cause}; is the server running, and is this its port for gRPC?")
            }
            _ => return CallError::Other(failed(operation, message)),
        };
        self.unreachable(message)
    }

    fn unreachable(&self, message: String) -> CallError {
        let place = self.place.clone();
        CallError::Other(StoreError::Unreachable { store: NAME, place, message })
    }

    fn without_key(&self, text: &str) -> String {
        match &self.api_key {
            Some(key) => text.replace(key, "(API key)"),
            None => text.to_owned(),
        }
    }
}

/// An error of the server or its client.
pub(super) fn failed(operation: &'static str, message: String) -> StoreError {
    StoreError::Engine { store: NAME, operation, message }
}
