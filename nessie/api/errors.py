"""The errors that Python gets. Each is a NessieError with the text that the command line prints, and without the
traceback inside Nessie."""
from __future__ import annotations

from traceback import format_exception
from types import TracebackType

from nessie.base.source import InternalError, Interrupted, NessieError


class Missing(NessieError, AttributeError):
    """The program defines nothing of this name."""


class Mistake(NessieError):
    """An internal error: a mistake in Nessie itself."""

    def __str__(self) -> str:
        return f"internal error: {self.message}\nThis is a mistake in Nessie, not in your program."

    def _render_traceback_(self) -> list[str]:
        """The traceback for notebooks, in full, as a bug report needs it."""
        return "".join(format_exception(self)).splitlines()


class as_nessie_errors:             # in lower case, like other context managers
    """Convert the body's exceptions to those that users get, without the traceback inside Nessie. Ctrl-C becomes
    Python's KeyboardInterrupt, which says where the program was."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        match error:
            case None:
                return
            case Interrupted():
                raise KeyboardInterrupt(str(error)) from None
            case NessieError():
                error.hint = error.hint.replace("--target cudasim", "target='cudasim'")
                raise error.with_traceback(None) from None
            case InternalError():
                raise Mistake(str(error)) from None
            case MemoryError():
                raise NessieError("out of memory") from None
            case OSError():                 # the system refuses something
                parts = [str(part) for part in (error.filename, error.strerror or error) if part]
                raise NessieError(": ".join(parts)) from None
            case Exception():
                raise Mistake(f"{type(error).__name__}: {error}") from error
