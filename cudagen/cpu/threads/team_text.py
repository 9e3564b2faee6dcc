"""A team of threads (nessie.cudagen.cpu.threads.team) in LLVM's text, on POSIX threads.

    share    opens a phase, rings the bell if somebody sleeps, and goes on
    go_on    the caller's part, for some milliseconds, so that Python can look for a Ctrl-C in between; at the end it
             shuts the gate and waits for those inside
    serve    a helper: waits for a phase, enters, takes pieces until there are none, leaves
    start    makes helpers
    close    ends them

Pieces are taken from a common counter. The gate holds the number of helpers inside, and in its sign whether it is shut.
Who comes late finds it shut, or no piece left; so a phase never waits for a thread that has not begun. A helper without
work yields its processor for some tens of microseconds, in which most phases are followed by the next, and then sleeps.

Who goes to sleep says so before a last look for work; who opens a phase does so before looking who sleeps. All these
accesses have one order (seq_cst), so one of the two sees the other. The same holds for a caller who waits.
"""
from __future__ import annotations

import sys
import time

PIECE = 64                      # chunks a call at most, so that an interrupt is noticed between calls
TURN = 5_000_000                # nanoseconds of work, about, between which the caller lets Python have a look
FOR_EVER = (1 << 63) - 1
CLOCK = getattr(time, "CLOCK_MONOTONIC", 0)
YIELDS = 200                    # times that who waits looks before it sleeps
LINE = 8                        # words of a cache line
SYSTEM = 16                     # words that hold a mutex or a condition of any system
SETS = 16                       # words of a set of processors
SHUT = -1 << 63                 # of the gate

NAMES = ("generation", "gate", "next", "sleeping", "waiting", "closing", "function", "words", "chunks", "pieces",
         "interrupt", "left")               # left: of the caller's piece, its first chunk and the one after its last
PLACES = {"mutex": 0, "bell": SYSTEM, "ended": 2 * SYSTEM, "busy": 3 * SYSTEM,
          **{name: 3 * SYSTEM + SETS + LINE * number for number, name in enumerate(NAMES)}}
THREADS = max(PLACES.values()) + LINE           # the helpers' threads

DECLARED = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @clock_gettime(i32, ptr)
"""

WAIT = """
; Waits until the word is the value, or (not `same`) is another: yields the processor a while, then sleeps on the
; condition, counted among those who do. Whether it slept.
define internal i1 @await(ptr %team, ptr %word, i64 %value, i1 %same, ptr %counter, ptr %condition) {{
entry:
{mutex}
  br label %look
look:
  %times = phi i64 [ 0, %entry ], [ %again, %yield ]
  %now = load atomic i64, ptr %word seq_cst, align 8
  %equal = icmp eq i64 %now, %value
  %met = icmp eq i1 %equal, %same
  br i1 %met, label %awake, label %patient
patient:
  %tired = icmp eq i64 %times, {YIELDS}
  br i1 %tired, label %lie, label %yield
yield:
  call i32 @sched_yield()
  %again = add i64 %times, 1
  br label %look
lie:
  call i32 @pthread_mutex_lock(ptr %mutex)
  %fell = atomicrmw add ptr %counter, i64 1 seq_cst
  br label %still
still:
  %late = load atomic i64, ptr %word seq_cst, align 8
  %alike = icmp eq i64 %late, %value
  %over = icmp eq i1 %alike, %same
  br i1 %over, label %rise, label %sleep
sleep:
  call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %still
rise:
  %rose = atomicrmw sub ptr %counter, i64 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr %mutex)
  ret i1 true
awake:
  ret i1 false
}}

; Wakes who sleeps on the condition.
define internal void @ring(ptr %team, ptr %condition) {{
{mutex}
  call i32 @pthread_mutex_lock(ptr %mutex)
  call i32 @pthread_cond_broadcast(ptr %condition)
  call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}}
"""

WORK = """
define internal i64 @now() {{
  %time = alloca [2 x i64]
  call i32 @clock_gettime(i32 {CLOCK}, ptr %time)
  %seconds = load i64, ptr %time
  %place = getelementptr i64, ptr %time, i64 1
  %more = load i64, ptr %place
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %more
  ret i64 %all
}}

; Does what is left of a piece, and takes others, until the time. 0: there are no more, or the run was interrupted.
define internal i64 @work(ptr %team, ptr %left, i64 %until) {{
entry:
{next, function, words, chunks, pieces, interrupt}
  %code = load ptr, ptr %function
  %given = load ptr, ptr %words
  %all = load i64, ptr %chunks
  %count = load i64, ptr %pieces
  %word = load ptr, ptr %interrupt
  %rounding = sub i64 %count, 1
  %stop = getelementptr i64, ptr %left, i64 1
  %unfinished = load i64, ptr %left
  %before = load i64, ptr %stop
  br label %look
take:
  %piece = atomicrmw add ptr %next, i64 1 monotonic
  %there = icmp ult i64 %piece, %count
  br i1 %there, label %bounds, label %none
bounds:
  %product = mul i64 %piece, %all
  %raised = add i64 %product, %rounding
  %begin = udiv i64 %raised, %count
  %after = add i64 %raised, %all
  %beyond = udiv i64 %after, %count
  br label %look
look:
  %first = phi i64 [ %unfinished, %entry ], [ %begin, %bounds ], [ %last, %call ]
  %end = phi i64 [ %before, %entry ], [ %beyond, %bounds ], [ %end, %call ]
  %finished = icmp uge i64 %first, %end
  br i1 %finished, label %take, label %listen
listen:
  %told = load atomic i64, ptr %word monotonic, align 8
  %interrupted = icmp ne i64 %told, 0
  br i1 %interrupted, label %none, label %clock
clock:
  %now = call i64 @now()
  %late = icmp sgt i64 %now, %until
  br i1 %late, label %later, label %call
call:
  %far = add i64 %first, {PIECE}
  %last = call i64 @llvm.umin.i64(i64 %far, i64 %end)
  call void %code(i64 %first, i64 %last, ptr %given)
  br label %look
later:
  store i64 %first, ptr %left
  store i64 %end, ptr %stop
  ret i64 1
none:
  ret i64 0
}}
declare i64 @llvm.umin.i64(i64, i64)
"""

SHARE = """
define i64 @share(ptr %team, ptr %code, ptr %given, i64 %all, i64 %count, ptr %word) {{
{bell, generation, gate, next, sleeping, function, words, chunks, pieces, interrupt, left}
  store ptr %code, ptr %function
  store ptr %given, ptr %words
  store i64 %all, ptr %chunks
  store i64 %count, ptr %pieces
  store ptr %word, ptr %interrupt
  store i64 0, ptr %next
  call void @llvm.memset.p0.i64(ptr %left, i8 0, i64 16, i1 false)
  store atomic i64 0, ptr %gate seq_cst, align 8
  %was = atomicrmw add ptr %generation, i64 1 seq_cst
  %asleep = load atomic i64, ptr %sleeping seq_cst, align 8
  %some = icmp ne i64 %asleep, 0
  br i1 %some, label %ring, label %go
ring:
  call void @alone(ptr %team)
  call void @ring(ptr %team, ptr %bell)
  br label %go
go:
  %more = call i64 @go_on(ptr %team)
  ret i64 %more
}}

define i64 @go_on(ptr %team) {{
entry:
{ended, gate, waiting, left}
  %open = load atomic i64, ptr %gate seq_cst, align 8
  %over = icmp eq i64 %open, {SHUT}
  br i1 %over, label %end, label %go
go:
  %begun = call i64 @now()
  %until = add i64 %begun, {TURN}
  %more = call i64 @work(ptr %team, ptr %left, i64 %until)
  %some = icmp ne i64 %more, 0
  br i1 %some, label %later, label %shut
later:
  ret i64 1
shut:
  %were = atomicrmw or ptr %gate, i64 {SHUT} seq_cst
  %slept = call i1 @await(ptr %team, ptr %gate, i64 {SHUT}, i1 true, ptr %waiting, ptr %ended)
  br label %end
end:
  ret i64 0
}}
"""

SERVE = """
define ptr @serve(ptr %team) {{
entry:
{bell, ended, generation, gate, sleeping, waiting, closing}
  %own = alloca [2 x i64]
  %stop = getelementptr i64, ptr %own, i64 1
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %new, %enter ], [ %new, %left ], [ %new, %ring ]
  %slept = call i1 @await(ptr %team, ptr %generation, i64 %seen, i1 false, ptr %sleeping, ptr %bell)
  br i1 %slept, label %rise, label %begin
rise:
  call void @spread(ptr %team)
  br label %begin
begin:
  %new = load atomic i64, ptr %generation seq_cst, align 8
  %told = load atomic i64, ptr %closing seq_cst, align 8
  %closed = icmp ne i64 %told, 0
  br i1 %closed, label %end, label %approach
approach:
  %before = load atomic i64, ptr %gate seq_cst, align 8
  br label %enter
enter:
  %number = phi i64 [ %before, %approach ], [ %found, %try ]
  %shut = icmp slt i64 %number, 0
  br i1 %shut, label %idle, label %try
try:
  %with = add i64 %number, 1
  %tried = cmpxchg ptr %gate, i64 %number, i64 %with seq_cst seq_cst
  %found = extractvalue {{ i64, i1 }} %tried, 0
  %entered = extractvalue {{ i64, i1 }} %tried, 1
  br i1 %entered, label %inside, label %enter
inside:
  store i64 0, ptr %own
  store i64 0, ptr %stop
  %none = call i64 @work(ptr %team, ptr %own, i64 {FOR_EVER})
  br label %left
left:
  %were = atomicrmw sub ptr %gate, i64 1 seq_cst
  %caller = load atomic i64, ptr %waiting seq_cst, align 8
  %waits = icmp ne i64 %caller, 0
  br i1 %waits, label %ring, label %idle
ring:
  call void @ring(ptr %team, ptr %ended)
  br label %idle
end:
  ret ptr null
}}
"""

BOUNDS = """
; Makes so many helpers; how many there are.
define i64 @start(ptr %team, i64 %helpers) {{
entry:
{mutex, bell, ended, gate}
  store i64 {SHUT}, ptr %gate
  call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  call i32 @pthread_cond_init(ptr %bell, ptr null)
  call i32 @pthread_cond_init(ptr %ended, ptr null)
  %threads = getelementptr i64, ptr %team, i64 {THREADS}
  br label %look
look:
  %made = phi i64 [ 0, %entry ], [ %more, %there ]
  %all = icmp eq i64 %made, %helpers
  br i1 %all, label %end, label %make
make:
  %thread = getelementptr i64, ptr %threads, i64 %made
  %refused = call i32 @pthread_create(ptr %thread, ptr null, ptr @serve, ptr %team)
  %ok = icmp eq i32 %refused, 0
  br i1 %ok, label %there, label %end
there:
  %more = add i64 %made, 1
  br label %look
end:
  ret i64 %made
}}

define void @close(ptr %team, i64 %helpers) {{
entry:
{bell, generation, closing}
  store atomic i64 1, ptr %closing seq_cst, align 8
  %was = atomicrmw add ptr %generation, i64 1 seq_cst
  call void @ring(ptr %team, ptr %bell)
  %threads = getelementptr i64, ptr %team, i64 {THREADS}
  br label %look
look:
  %joined = phi i64 [ 0, %entry ], [ %more, %join ]
  %all = icmp eq i64 %joined, %helpers
  br i1 %all, label %end, label %join
join:
  %place = getelementptr i64, ptr %threads, i64 %joined
  %thread = load i64, ptr %place
  call i32 @pthread_join(i64 %thread, ptr null)
  %more = add i64 %joined, 1
  br label %look
end:
  ret void
}}
"""

# Linux may wake two threads on one processor, and move neither for some milliseconds: who wakes where a fellow has
# begun moves to a processor without one. `busy` is the set of those where somebody is.
SPREAD = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

; Notes that this thread's processor is busy; whether it was.
define internal i1 @note(ptr %team) {{
{busy}
  %here = call i32 @sched_getcpu()
  %known = icmp ult i32 %here, {PROCESSORS}
  br i1 %known, label %mark, label %unknown
mark:
  %number = zext i32 %here to i64
  %at = lshr i64 %number, 6
  %word = getelementptr i64, ptr %busy, i64 %at
  %shift = and i64 %number, 63
  %bit = shl i64 1, %shift
  %old = atomicrmw or ptr %word, i64 %bit monotonic
  %there = and i64 %old, %bit
  %taken = icmp ne i64 %there, 0
  ret i1 %taken
unknown:
  ret i1 false
}}

; The caller's processor is the only busy one.
define internal void @alone(ptr %team) {{
{busy}
  call void @llvm.memset.p0.i64(ptr %busy, i8 0, i64 {SET_BYTES}, i1 false)
  %taken = call i1 @note(ptr %team)
  ret void
}}

define internal void @spread(ptr %team) {{
entry:
{busy}
  %everywhere = alloca [{SETS} x i64]
  %free = alloca [{SETS} x i64]
  %taken = call i1 @note(ptr %team)
  br i1 %taken, label %ask, label %end
ask:
  %failed = call i32 @sched_getaffinity(i32 0, i64 {SET_BYTES}, ptr %everywhere)
  %told = icmp eq i32 %failed, 0
  br i1 %told, label %words, label %end
words:
  %number = phi i64 [ 0, %ask ], [ %following, %words ]
  %some = phi i64 [ 0, %ask ], [ %any, %words ]
  %may = getelementptr i64, ptr %everywhere, i64 %number
  %allowed = load i64, ptr %may
  %is = getelementptr i64, ptr %busy, i64 %number
  %used = load atomic i64, ptr %is monotonic, align 8
  %unused = xor i64 %used, -1
  %left = and i64 %allowed, %unused
  %to = getelementptr i64, ptr %free, i64 %number
  store i64 %left, ptr %to
  %any = or i64 %some, %left
  %following = add i64 %number, 1
  %all = icmp eq i64 %following, {SETS}
  br i1 %all, label %choose, label %words
choose:
  %nowhere = icmp eq i64 %any, 0
  br i1 %nowhere, label %end, label %move
move:
  call i32 @sched_setaffinity(i32 0, i64 {SET_BYTES}, ptr %free)
  call i32 @sched_setaffinity(i32 0, i64 {SET_BYTES}, ptr %everywhere)
  %noted = call i1 @note(ptr %team)
  br label %end
end:
  ret void
}}
"""

STAYING = """
define internal void @alone(ptr %team) {{
  ret void
}}
define internal void @spread(ptr %team) {{
  ret void
}}
"""


def text() -> str:
    """The team in LLVM's text, for this system."""
    moves = SPREAD if sys.platform == "linux" else STAYING
    return DECLARED + "".join(written(part) for part in (moves, WAIT, WORK, SHARE, SERVE, BOUNDS))


def written(part: str) -> str:
    """A part with its numbers; a line of names becomes the addresses of those words."""
    numbers = {"PIECE": PIECE, "TURN": TURN, "FOR_EVER": FOR_EVER, "CLOCK": CLOCK,
               "YIELDS": YIELDS, "SHUT": SHUT, "THREADS": THREADS, "SETS": SETS,
               "SET_BYTES": 8 * SETS, "PROCESSORS": 64 * SETS}
    lines = []
    for line in part.splitlines():
        if line.startswith("{") and line.endswith("}"):
            lines += [f"  %{name} = getelementptr i64, ptr %team, i64 {PLACES[name]}"
                      for name in line[1:-1].split(", ")]
        else:
            lines.append(line.format(**numbers))
    return "\n".join(lines) + "\n"
