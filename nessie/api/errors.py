"""The errors that Python gets: each is a NessieError, says what the command line says, and keeps to itself where in
Nessie it was raised."""
from __future__ import annotations

from traceback import format_exception
from types import TracebackType

from nessie.base.source import InternalError, Interrupted, NessieError


class Missing(NessieError, AttributeError):
    """The program has nothing of this name."""


class Mistake(NessieError):
    """Nessie itself is wrong."""

    def __str__(self) -> str:
        return f"internal error: {self.message}\nThis is a mistake in Nessie, not in your program."

    def _render_traceback_(self) -> list[str]:
        """With where it was raised, which is what a report needs."""
        return "".join(format_exception(self)).splitlines()


class as_nessie_errors:             # as contextmanager's are named
    """Raise what the body raises as users get it, without the frames of Nessie. Ctrl-C is Python's
    KeyboardInterrupt."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        match error:
            case Interrupted():
                raise KeyboardInterrupt from None
            case NessieError():
                error.hint = error.hint.replace("--target cudasim", "target='cudasim'")
                raise error.with_traceback(None) from None
            case InternalError():
                raise Mistake(str(error)) from None
            case MemoryError():
                raise NessieError("out of memory") from None
            case OSError():                 # what the system refuses
                parts = [str(part) for part in (error.filename, error.strerror or error) if part]
                raise NessieError(": ".join(parts)) from None
            case Exception():
                raise Mistake(f"{type(error).__name__}: {error}") from error
