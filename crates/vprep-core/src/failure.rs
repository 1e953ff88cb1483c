//! The kinds of failure, and the exit code of each.

use std::error::Error;

/// What kind of failure an error is: all that a caller needs to choose an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nobody foresaw it: a bug of vprep or of a library.
    Unexpected,
    /// A bad flag, argument or recipe.
    Usage,
    /// Bad, missing or unwritable data.
    Data,
    /// A check found a difference, or a target was not reached.
    Check,
    /// A store, a remote or a device is missing or unreachable.
    Unreachable,
    /// Stopped by the user.
    Interrupted,
}

impl Kind {
    /// The exit code of the command line: 1, 2, 3, 4, 5 or 130.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::Data => 3,
            Self::Check => 4,
            Self::Unreachable => 5,
            Self::Interrupted => 130,
        }
    }
}

/// An error that knows its kind. Every error enum of vprep is one.
pub trait Failure: Error {
    /// The kind, from an exhaustive match, so that a new variant cannot be forgotten.
    fn kind(&self) -> Kind;
}
