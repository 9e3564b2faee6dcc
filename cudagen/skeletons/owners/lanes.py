"""What the lanes of an owner that goes through a loop over rows know of each other: when they meet, and who gives up.

    meeting         before lanes read what others have left, and before they write where others may read
    giving up       where a check fails, an array has no room, or the rounds are too many: nothing more is done

What is behind a statement that may give up stands under a condition, which is the same for all lanes. A lane that finds
a check failing says so in a flag; then the lanes meet and look at it. Three flags are used in turn, since others may
look at the one before while a lane is at the next: of the third the first lane sets it back. So all flags are as they
were when the next row comes.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable

from nessie.base.records import dataclass
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.owners.local import LocalCode, Slot
from nessie.cudagen.skeletons.owners.teams import Team, meet

ROUNDS = 1 << 14                # of an activation; more are left to the host, which asks for its limits in each
FLAGS = 3                       # of an owner
TRUE = loops.Const(True, "bool")


@dataclass
class Needs:
    """What lanes need: flags, since checks may fail; meetings, since they read what others have left."""
    flags: bool = True
    meetings: bool = True


class Lanes:
    """Writes how lanes meet and give up. `fine`: a variable that says that nobody has given up; `left`: how many rounds
    are; `needs`: what is known to be needed; `found`: what is. Since the lanes have met they have looked in the slots
    `read` for what others have left, so that nobody writes there, and have left their own in those `written`. `apart`:
    may they give up before they have met then?"""

    def __init__(self, code: LocalCode, team: Team, needs: Needs) -> None:
        self.code, self.team = code, team
        self.fine = code.var("fine", "bool", TRUE)
        self.left = code.var("left", "int", integer(ROUNDS))
        self.turn, self.flags = "", ""
        self.needs, self.found = needs, Needs(False, False)
        self.read: list[Slot] = []
        self.written: list[Slot] = []
        self.apart = False
        if needs.flags and team.lanes > 1:
            self.turn = code.var("turn", "int", integer(0))
            self.flags = code.fresh("gives_up")
            code.statements += team.first([loops.Store(self.flags, self.flag(integer(at)), integer(0))
                                           for at in range(FLAGS)])
            if not needs.meetings:              # else they meet behind the copies of each row, before they check
                self.meet()

    # Giving up ------------------------------------------------------------------------------

    def begin(self, fits: loops.Exp) -> None:
        """A row comes next: nobody has given up, if it has room."""
        code = self.code
        code.add(loops.Set(self.fine, fits))
        code.add(loops.Set(self.left, integer(ROUNDS)))
        code.add(loops.Set("failed", integer(NO_FAILURE)))

    def flag(self, turn: loops.Exp) -> loops.Exp:
        return op("+", op("*", self.code.own, integer(FLAGS)), turn)

    def shared_memory(self) -> tuple[loops.Shared, ...]:
        own = [loops.Shared(self.flags, "int", FLAGS * self.code.room.owners)] if self.flags else []
        return (*self.code.shared_memory(), *own)

    def look_at_checks(self, together: bool) -> None:
        """Give up if a check of this lane has failed, or of any that come together here."""
        code, failed = self.code, op("<", loops.Name("failed"), integer(NO_FAILURE))
        if not together or self.team.lanes == 1:
            self.unless(op("not", failed))
            return
        turn, self.found.flags = loops.Name(self.turn), True
        code.add(loops.If(failed, (loops.Atomic("exchange", self.flags, self.flag(turn), integer(1)),)))
        self.meet()
        code.add(loops.Set(self.fine, op("==", loops.Load(self.flags, self.flag(turn)), integer(0))))
        before = op("select", op("<", integer(0), turn), op("-", turn, integer(1)), integer(FLAGS - 1))
        code.statements += self.team.first([loops.Store(self.flags, self.flag(before), integer(0))])
        code.add(loops.Set(self.turn, op("select", op("<", turn, integer(FLAGS - 1)), op("+", turn, integer(1)),
                                         integer(0))))

    def unless(self, holds: loops.Exp) -> None:
        """Give up, unless this holds for all lanes."""
        self.apart |= bool(self.read)
        self.code.add(loops.Set(self.fine, holds))

    def end(self, gave: loops.Stmt) -> None:
        """Say it if the owner has given up. Lanes may still look at the elements of this row then."""
        code = self.code
        with code.block() as told:
            code.statements += self.team.first([gave])
            if self.apart:
                code.note("lanes may look at each other's elements still")
                self.meet()
        code.add(loops.If(op("not", loops.Name(self.fine)), tuple(told)))

    def if_fine(self, write: Callable[[], None]) -> None:
        with self.code.block() as inside:
            write()
        if inside:
            self.code.add(loops.If(loops.Name(self.fine), tuple(inside)))

    def alternatives(self, writes: Iterable[Callable[[], None]]) -> list[tuple[loops.Stmt, ...]]:
        """What each of these writes, from where lanes are now: one of them is done."""
        before, written = (self.read, self.written), []
        for write in writes:
            self.read, self.written = map(list, before)
            with self.code.block() as inside:
                write()
            written.append(tuple(inside))
        return written

    # Meeting --------------------------------------------------------------------------------

    def meet(self) -> None:
        meet(self.code, self.team)
        self.read, self.written = [], []

    def meet_for_rows(self) -> None:
        """Meet, since lanes read what others have left, if any do."""
        if self.needs.meetings:
            self.meet()
        self.read, self.written = [], []

    def settle(self) -> None:
        """Meet where nobody knows what lanes have done: at the end of a block, and before a loop."""
        if self.read or self.written:
            self.meet_for_rows()

    def look_elsewhere(self, arrays: Iterable[str]) -> None:
        """Lanes read elements of these arrays that may be others'."""
        if self.team.lanes == 1:
            return
        slots = [self.code.slots[array] for array in arrays if array in self.code.slots]
        self.found.meetings |= bool(slots)
        if any([slot in self.written for slot in slots]):
            self.code.note("lanes read what others have left")
            self.meet_for_rows()
        self.read += slots
