/* PERMUTE where the last write wins (last_writes.py): threads claim places, a launch settles them.

   A thread's element has its place, one of PLACES, chosen at first. It claims that by its index and leaves its value at
   the index; in the next launch a thread for each place takes there what the greatest index has left. Values are the
   indices plus 10; a place that nobody writes to keeps what it had.

   safe  -DELEMENTS=4
   ends  -DELEMENTS=3

   mistake EXCHANGE         assertion    the one who comes last has the place, not the greatest
   mistake ONE_LAUNCH       assertion    places are settled while others are at work
   mistake CLAIMED_BY_0     assertion    claims are 0 at first, as if the first element had claimed all

   text "permute last", K_sweep, of claims written:
     a  atomicMax claims
     b  written =
     b  written =
   text "permute last", K_settle0, of claims written:
     c  load claims
     d  load written
     d  load written                                                                                             */
#ifndef ELEMENTS
#define ELEMENTS 4
#endif
#define PLACES 2
#define UNCLAIMED 255
#define KEPT 99

byte target[ELEMENTS], claims[PLACES], written[ELEMENTS], result[PLACES];
byte swept, settled;
#define LESS(a, b) ((a) == UNCLAIMED || (a) < (b))

proctype element(byte i) {
#ifdef EXCHANGE
  claims[target[i]] = i;
#else
  d_step { if :: LESS(claims[target[i]], i) -> claims[target[i]] = i :: else fi }      /* a */
#endif
  written[i] = 10 + i;                                                  /* b */
  swept++
}

proctype settle(byte place) {
  byte winner;
#ifndef ONE_LAUNCH
  swept == ELEMENTS;                                                    /* a launch begins when that before it has ended */
#endif
  winner = claims[place];                                               /* c */
  if
  :: winner != UNCLAIMED -> result[place] = written[winner]             /* d */
  :: else
  fi;
  settled++
}

init {
  byte i, last;
  atomic {
    do :: i < ELEMENTS -> if :: target[i] = 0 :: target[i] = 1 :: target[i] = PLACES fi; i++ :: else -> break od;
    i = 0;
    do
    :: i < PLACES ->
#ifdef CLAIMED_BY_0
         claims[i] = 0;
#else
         claims[i] = UNCLAIMED;
#endif
         result[i] = KEPT; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < ELEMENTS -> if :: target[i] < PLACES -> run element(i) :: else -> swept++ fi; i++     /* beyond: none */
    :: else -> break
    od;
    i = 0;
    do :: i < PLACES -> run settle(i); i++ :: else -> break od
  }
  settled == PLACES && swept == ELEMENTS;
  d_step {
    i = 0;
    do
    :: i < PLACES ->
         last = KEPT; swept = 0;
         do :: swept < ELEMENTS -> if :: target[swept] == i -> last = 10 + swept :: else fi; swept++ :: else -> break od;
         assert(result[i] == last);
         i++
    :: else -> break
    od
  }
}

ltl ends { <> (settled == PLACES) }
