"""A function of a program, to be called from Python, and what the compiler makes of it."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nessie.api.errors import as_nessie_errors
from nessie.api.lengths import parsed
from nessie.base.source import NessieError
from nessie.base.system.forking import STEADY
from nessie.base.text.types_text import show_scheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from inspect import Signature

    from nessie.api.program import Program
    from nessie.api.thresholds import Thresholds
    from nessie.api.tuning import Versions
    from nessie.api.views import Explanation, Graph, Kernels, Stages
    from nessie.syntax.nodes import TypeExp


class Documentation:
    """A descriptor for `__doc__`: a function's documentation in NESL; on the class, the class's own docstring."""

    def __init__(self, about: str | None) -> None:
        self.about = about

    def __get__(self, function: Function | None, kind: type) -> str | None:
        return self.about if function is None else function.about


class Function:
    """Compiled when it is called, for the types and the memory layout of the arguments. The code is kept, in this
    process and in the disk cache. NESL's errors are NessieErrors."""

    def __init__(self, program: Program, name: str, asked: TypeExp | None = None) -> None:
        """`asked`: the type of the argument, as written; None: the function's own."""
        self._program, self.__name__, self._asked = program, name, asked
        entry = program._session.environment.lookup(name)
        assert entry is not None                # the program has found it
        self._entry = entry

    @property
    def signature(self) -> str:
        """The function's name and its type."""
        return f"{self.__name__} : {show_scheme(self._entry.scheme.type)}"

    @property
    def __signature__(self) -> Signature:
        from nessie.api.parameters import signature_of
        return signature_of(self._entry, self._program._session.environment)

    @property
    def about(self) -> str:
        """The signature, followed by the documentation that the function's author has written, if any."""
        about = self._program._session.environment.documentation(self._entry.name)
        return f"{self.signature}\n\n{about}" if about else self.signature

    def __call__(self, *arguments: Any, target: str | None = None, **named: Any) -> Any:
        """The function's result. `named`: arguments by the names of their parameters; `target`: cpu, cuda, cudasim or
        reference, None: the program's."""
        with as_nessie_errors():
            return self._program._call(self.__name__, arguments, named, target, self._asked)

    def map_partitions(self, files: Any, *arguments: Any, column: str | Sequence[str] | None = None,
                       cluster: Any = None, workers: int | None = None, out: Any = None, **named: Any) -> Any:
        """The results of the function on parts of files that are independent of each other, as an iterator: row groups
        of Parquet files; some MB of rows of .npy, .jsonl, .csv, .tsv and .txt files; .npz files of offsets and content.
        `files`: a path, a folder, a pattern such as "rows/*.parquet", or several, for the first parameter; or a dict of
        these by names of parameters, whose files have as many rows. Rows of tables are tuples of all columns, or of
        those that their names say, "rows.parquet:id,r", or else `column`, one or several. `arguments`, `named`: what
        each call gets for the other parameters. Parts come one after another, in bounded memory, or on a `cluster`, or
        by `workers` on this machine. `out`: a new folder, for a Parquet file of each part, or a file .npy, .jsonl,
        .csv, .tsv; then the result is a list of these."""
        with as_nessie_errors():
            with STEADY:
                from nessie.api.partitions.map_partitions import Asked, columns_of, map_partitions, where_of
            asked = Asked(self._program, self.__name__, self._asked, columns_of(column), where_of(cluster, workers))
            return map_partitions(asked, files, arguments, named, out)

    def at(self, type: str) -> Function:
        """The function for arguments of this type, which may tell their lengths: "([float; n], [float; n])" are two of
        one length, "[i < n => [float; i + 1]]" a triangle, for which a vector of its elements may be given."""
        with as_nessie_errors():
            return Function(self._program, self.__name__, parsed(self._program._session, type))

    def __repr__(self) -> str:
        return f"<NESL function {self.signature}>"

    def __reduce__(self) -> Any:
        raise NessieError(f"the function {self.__name__} can neither be pickled nor copied",
                          hint="load its program where it is used: what is compiled is kept on disk")

    def explain(self, *arguments: Any, type: str | None = None, target: str | None = None,
                everything: bool = False) -> Explanation:
        """The explanation of `nessie explain`: what is fused and what is not, why, and at what cost. With arguments,
        each schedule is run and measured on the CPU, and conversions of arguments are listed. Without, `type` is the
        argument's type: "[float]", "([int], float)". `everything`: every pair, with its price."""
        with as_nessie_errors():
            with STEADY:
                from nessie.api import views
            asked = views.Asked(self._program, self.__name__, arguments, type, target, self._asked)
            return views.explain(asked, everything)

    def graph(self, *arguments: Any, type: str | None = None, target: str | None = None) -> Graph:
        """The dependence graph as `nessie graph` draws it, with the nodes that share a kernel."""
        with as_nessie_errors():
            with STEADY:
                from nessie.api import views
            return views.graph(views.Asked(self._program, self.__name__, arguments, type, target, self._asked))

    def kernels(self, *arguments: Any, type: str | None = None, target: str | None = None) -> Kernels:
        """The fused kernels, and the code around them."""
        with as_nessie_errors():
            with STEADY:
                from nessie.api import views
            return views.kernels(views.Asked(self._program, self.__name__, arguments, type, target, self._asked))

    def versions(self, *arguments: Any, type: str | None = None, target: str | None = None) -> Versions:
        """What a run of the function chooses from, with conditions and thresholds. With arguments, it is called once,
        and the versions that the call took are told. Without, `type` is the argument's type."""
        with as_nessie_errors():
            with STEADY:
                from nessie.api import views
            return views.versions(views.Asked(self._program, self.__name__, arguments, type, target, self._asked))

    def tune(self, calls: Iterable[Sequence[Any]], *, target: str | None = None) -> Thresholds:
        """Where each version of the function is the quickest on this machine: runs all of them, by turns, for each of
        the `calls`, a tuple of arguments each, which a generator may make one after another. They should differ in what
        the choice depends on, such as the number of elements. The result, or the file that it is saved to, is for
        `nessie.load(..., tuning=...)`."""
        with as_nessie_errors():
            with STEADY:
                from nessie.api import views
            tuner = views.tuner(views.Asked(self._program, self.__name__, (), None, target, self._asked), calls)
        for call in calls:      # a generator's mistakes are its own
            with as_nessie_errors():
                tuner.measure(call)
        with as_nessie_errors():
            return tuner.found()

    def stages(self, *arguments: Any, type: str | None = None, target: str | None = None) -> Stages:
        """The program after each stage of the compiler, from its types to its code."""
        with as_nessie_errors():
            with STEADY:
                from nessie.api import views
            return views.stages(views.Asked(self._program, self.__name__, arguments, type, target, self._asked))


Function.__doc__ = Documentation(Function.__doc__)         # type: ignore[assignment]
