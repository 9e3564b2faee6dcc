/* A sort's pass (order.py, order_text.py): how many elements of all tiles before a tile have a digit's value.

   Each of a block's 256 threads looks for the value of its own and for no other, in words of its own: one is modelled,
   as a process. A word holds a count, whether it is the tile's own or of all tiles up to it, and the pass, so that the
   words that an earlier pass has left are not taken for this one's; here PASSES passes use the same words, one launch
   after another. Counts are bits, of each tile in each pass its own, and JOIN asserts that none is joined twice, or in another order.
   The word says it all, so nothing needs to be released.

   safe  -DTILES=5 -DAT_WORK=3
   ends  -DTILES=4 -DAT_WORK=2

   mistake NO_PASS          assertion    words do not hold the pass
   mistake GOES_ON          assertion    who has found what all tiles up to one have goes on to look
   mistake TWO_WORDS        assertion    the count stands in a word of its own, and may be seen late
   mistake OWN_AGAIN        assertion    the second word has what is before the tile, without the tile's own
   mistake NO_TICKETS       livelock     blocks have tiles in no order: all at work may wait for one that never begins

   text "order", K_pass, of counts status:
     a  load counts
     b  atomicAdd counts
     c  load counts
     c  load counts
     d  atomicExch status
     d  load counts
     e  load_relaxed status
     f  atomicExch status                                                                                        */
#ifndef TILES
#define TILES 5
#endif
#ifndef AT_WORK
#define AT_WORK 3
#endif
#define PASSES 2
#define OWN 1
#define UP_TO 2

#define JOIN(into, left, right) assert((right) == 0 || (left) < ((right) & -(right))); into = (left) | (right)

typedef word { byte pass, what; short count };
word status[TILES];
byte counts[PASSES + 1];                /* the passes' tickets */
byte begun, ended, pass = 1;            /* for the model alone: of this launch */

#ifdef TWO_WORDS
#define TELL(told, number) if :: status[tile].what = told; status[tile].pass = pass; status[tile].count = number \
                           :: status[tile].count = number; status[tile].what = told; status[tile].pass = pass fi
#else
#define TELL(told, number) atomic { status[tile].pass = pass; status[tile].what = told; status[tile].count = number }
#endif
#ifdef NO_PASS
#define IS_OURS(place) (status[place].pass != 0)
#else
#define IS_OURS(place) (status[place].pass == pass)
#endif

proctype block() {
  byte tile, what;
  short total, earlier, told, look;
  do
#ifdef NO_TICKETS
  :: atomic {
       begun != (1 << TILES) - 1 ->
       tile = 0;
       do
       :: begun & (1 << tile) -> tile++
       :: !(begun & (1 << tile)) -> break
       :: !(begun & (1 << tile)) && tile < TILES - 1 -> tile++
       od;
       if :: tile < TILES && !(begun & (1 << tile)) -> begun = begun | (1 << tile) :: else -> goto again fi;
#else
  :: atomic {
       begun < TILES && pass <= PASSES -> begun++;                          /* a: a pass that is left out has no blocks */
       tile = counts[pass]; counts[pass] = tile + 1;                    /* b */
#endif
       total = 1 << (tile + TILES * (pass - 1))                             /* c: where elements lie, and go */
     }
     TELL(OWN, total);                                                  /* d */
     earlier = 0; look = tile - 1;
     do
     :: look >= 0 ->
          atomic {                                                      /* e */
            what = (IS_OURS(look) -> status[look].what : 0);
            told = status[look].count
          }
          if
          :: what == OWN || what == UP_TO ->
               atomic { JOIN(earlier, told, earlier) }
#ifdef GOES_ON
               look--
#else
               look = (what == UP_TO -> -1 : look - 1)
#endif
          :: else -> skip
          fi
     :: else -> break
     od;
#ifdef OWN_AGAIN
     TELL(UP_TO, earlier);
#else
     TELL(UP_TO, earlier | total);                                      /* f */
#endif
     atomic {                                                           /* where the value's elements go */
       assert(earlier == total - (1 << (TILES * (pass - 1))));
       ended++; tile = 0; total = 0; earlier = 0; look = 0; what = 0; told = 0;
       if
       :: ended == TILES -> ended = 0; begun = 0; pass++                    /* the next launch begins */
       :: else
       fi
     }
#ifdef NO_TICKETS
     again: skip
#endif
  :: atomic { pass > PASSES -> break }
  od
}

init {
  byte i;
  atomic { do :: i < AT_WORK -> run block(); i++ :: else -> break od; i = 0 }
}

ltl ends { <> (pass > PASSES) }
