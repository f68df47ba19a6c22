"""What can go wrong, by name. Every message gives the value, the rule and the way out."""


class SojournError(Exception):
    """The parent of every error that Sojourn raises."""


class DelayError(SojournError, ValueError):
    """A delay or a wall-clock time that no timer can honour."""


class ConfigError(SojournError, ValueError):
    """A setting that makes no sense, such as a wheel of one bucket."""


class TimerClosedError(SojournError, RuntimeError):
    """The timer was closed; it would never run what it is given now."""


class ReaperDiedError(SojournError, RuntimeError):
    """The thread that drives the timer has stopped by accident; the cause is attached."""


class ForkedError(SojournError, RuntimeError):
    """This process was forked from the one that the timer runs in; nothing drives it here."""


class LivelockError(SojournError, RuntimeError):
    """Virtual time cannot move: tasks keep re-arming themselves for the instant they run in."""


class DeadlockError(SojournError, RuntimeError):
    """Waiting here would never end: what is waited for can only happen in this thread."""


class PurgatoryClosedError(SojournError, RuntimeError):
    """The purgatory was closed; nothing would ever end what it is given now."""


class RuleError(SojournError, ValueError):
    """A rule, a condition, a duration or an event that makes no sense; `field` names the setting at fault, if any."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class HubFullError(SojournError, RuntimeError):
    """The hub has as many pending waits as it was allowed; it refuses rather than run out of memory."""


class SourceError(SojournError, ValueError):
    """An event log that cannot be found or read, or lacks what a rule needs of it."""


class StorageError(SojournError, RuntimeError):
    """The parent of every error about a data folder."""


class DiskError(StorageError):
    """The disk did not take what was to be written: it is full, read-only or failing. Nothing acknowledged is lost."""


class DamagedError(StorageError):
    """A file of a data folder is not what was written; the message names the file and the offset."""


class FormatError(StorageError):
    """A data folder in a format that this version cannot read."""


class OwnedError(StorageError):
    """Another process, or another hub of this one, owns the data folder."""


class ClockStepError(StorageError):
    """The wall clock has jumped further than `max_step` allows."""


class IdTakenError(SojournError, ValueError):
    """Another wait has this id."""


class NotStorableError(SojournError, ValueError):
    """A key, an id, a value or a payload that cannot be written to a log."""


class OutcomesGoneError(StorageError, LookupError):
    """Outcomes that were asked for have been removed from the log, as its retention says.

    `resume_after` is the cursor from which there are outcomes again.
    """

    def __init__(self, message: str, resume_after: int = 0) -> None:
        super().__init__(message)
        self.resume_after = resume_after


class UnreachableError(SojournError, ConnectionError):
    """A service that does not answer, or was lost before it had; the message says what is known of the request."""


class NotAllowedError(SojournError, PermissionError):
    """A service does not know the token, or its scope is not enough."""
