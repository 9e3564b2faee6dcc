/* The look-back (look_back.py): what all tiles before a tile come to, while these are at work.

   A block is a process that draws the number of its tile; AT_WORK of them are at work at a time. Its first warp has
   GROUP lanes, and a group as many tiles. What a tile comes to is a bit, so what several come to are their bits, and JOIN asserts that
   nothing is joined twice, or in another order. What sums are at first is garbage. Nobody fills anything:
   statuses are 0, as those of a device's first launch, or with -DKEPT what earlier launches have left, less than this
   launch's begin with; who draws the last ticket sets the counter back.
   With -DARRAYS a tile has a status, and sums beside it; without, a descriptor, both at once: then an aggregate is gone
   when the prefix is there. JOIN asserts that nobody misses it. The last tile stores what all come to, for the end.
   With -DSEGMENTS lines of tiles begin anywhere: some tiles begin with a segment, in some the last segment begins.

   safe  -DTILES=6 -DAT_WORK=2
   safe  -DTILES=6 -DAT_WORK=3
   safe  -DTILES=5 -DAT_WORK=2
   safe  -DTILES=8 -DAT_WORK=2 -DGROUP=4
   safe  -DTILES=6 -DAT_WORK=2 -DKEPT
   safe  -DTILES=4 -DAT_WORK=2 -DSEGMENTS
   safe  -DTILES=4 -DAT_WORK=2 -DSEGMENTS -DKEPT
   safe  -DTILES=5 -DAT_WORK=2 -DSEGMENTS -DKEPT: 2.4 million states
   ends  -DTILES=4 -DAT_WORK=2
   ends  -DTILES=4 -DAT_WORK=2 -DSEGMENTS
   safe  -DARRAYS -DTILES=6 -DAT_WORK=2
   safe  -DARRAYS -DTILES=6 -DAT_WORK=3: 6.7 million states
   safe  -DARRAYS -DTILES=5 -DAT_WORK=2
   safe  -DARRAYS -DTILES=8 -DAT_WORK=2 -DGROUP=4
   safe  -DARRAYS -DTILES=6 -DAT_WORK=2 -DKEPT
   safe  -DARRAYS -DTILES=4 -DAT_WORK=2 -DSEGMENTS
   safe  -DARRAYS -DTILES=4 -DAT_WORK=2 -DSEGMENTS -DKEPT
   safe  -DARRAYS -DTILES=5 -DAT_WORK=2 -DSEGMENTS -DKEPT: 7.6 million states
   ends  -DARRAYS -DTILES=4 -DAT_WORK=2
   ends  -DARRAYS -DTILES=4 -DAT_WORK=2 -DSEGMENTS

   mistake TORN_STORE       assertion    a descriptor is stored as two words, its status first
   mistake TORN_STORE_LAST  assertion    a descriptor is stored as two words, its status last
   mistake TORN_LOAD        assertion    a descriptor is loaded as two words, its status first
   mistake TORN_LOAD_LAST   assertion    a descriptor is loaded as two words, its status last
   mistake ALL_TELL         assertion    tiles that close no group put their prefix in the place of their aggregate
   mistake STATUS_FIRST     assertion    a tile publishes its status before its sums: -DARRAYS
   mistake NO_ACQUIRE       assertion    values are loaded before the status that says they are there: -DARRAYS
   mistake NO_EPOCH         assertion    a status of an earlier launch counts: -DKEPT
   mistake EPOCH_WRAPS      assertion    the numbers of launches have begun anew: -DKEPT
   mistake KNOWN_KEPT       assertion    the lane found while polling counts, though a nearer knows by now: -DARRAYS
   mistake NO_TICKETS       livelock     blocks have tiles in no order: all at work may wait for one that never begins
   mistake TICKET_KEPT      assertion    nobody sets the counter of tickets back: -DKEPT
   mistake LINE_FORGOTTEN   assertion    groups of other lines are looked at, too: -DSEGMENTS

   text "scan", K_sweep, of tickets descriptors:
     a  atomicAdd tickets
     b  atomicExch tickets
     m  store_pair descriptors 1
     n  load_pair descriptors
     o  store_pair descriptors 1
     n  load_pair descriptors
     p  store_pair descriptors 2
     -  atomic_add_ordered tickets
     -  atomicExch tickets

   text "partition", K_sweep, of tickets status aggregates prefixes all:
     a  atomicAdd tickets
     b  atomicExch tickets
     c  aggregates =
     c  aggregates =
     d  store_release status 1
     e  load_relaxed status
     f  load_acquire status
     g  volatile prefixes
     g  volatile prefixes
     h  volatile aggregates
     h  volatile aggregates
     i  aggregates =
     i  aggregates =
     j  store_release status 1
     e  load_relaxed status
     f  load_acquire status
     g  volatile prefixes
     g  volatile prefixes
     h  volatile aggregates
     h  volatile aggregates
     k  prefixes =
     k  prefixes =
     l  store_release status 2
     q  all =
     q  all =
     -  atomic_add_ordered tickets
     -  atomicExch tickets
     -  load all
     -  load all                                                                                       */
#ifndef GROUP
#define GROUP 2
#endif
#ifndef TILES
#define TILES 6
#endif
#ifndef AT_WORK
#define AT_WORK 2
#endif
#if defined(KEPT) && !defined(EPOCH_WRAPS)
#define NOTHING 4                       /* this launch's epoch is 1 */
#else
#define NOTHING 0
#endif
#define AGGREGATE 1
#define PREFIX 2
#define GARBAGE 128                     /* what earlier launches have left of sums: the bit of no tile */

byte status[TILES];
#ifdef ARRAYS
byte aggregates[TILES], prefixes[TILES];
#else
byte values[TILES];
#endif
byte all_come_to = 0;
byte tickets = 0, begun = 0, ended = 0; /* begun, ended: for the model alone */
#ifdef SEGMENTS
byte had[TILES];                            /* so many tiles before it has the tile's first segment */
bool begins[TILES];                         /* does the tile's last segment begin in it? */
#endif

/* into = left and then right; a sum holds neighbouring tiles in order, so left's are all less than right's least */
#define JOIN(into, left, right) assert((right) == 0 || (left) < ((right) & -(right))); into = (left) | (right)

/* does the tile tell its prefix? */
#ifdef ALL_TELL
#define TELLS true
#else
#define TELLS closes
#endif

/* a tile publishes a sum, and says what it is */
#ifdef ARRAYS
#ifdef STATUS_FIRST
#define TELL(array, what, sum) status[tile] = NOTHING + what; array[tile] = sum
#else
#define TELL(array, what, sum) array[tile] = sum; status[tile] = NOTHING + what
#endif
#elif defined(TORN_STORE)
#define TELL(array, what, sum) status[tile] = NOTHING + what; values[tile] = sum
#elif defined(TORN_STORE_LAST)
#define TELL(array, what, sum) values[tile] = sum; status[tile] = NOTHING + what
#else
#define TELL(array, what, sum) d_step { status[tile] = NOTHING + what; values[tile] = sum }
#endif

#define TURN (up -> lane : GROUP - 1 - lane)

#ifdef NO_EPOCH
#define PUBLISHED(word) ((word) & 3)
#else
#define PUBLISHED(word) ((word) > NOTHING -> (word) - NOTHING : 0)
#endif

/* Each lane looks at a tile, a step before that of the lane below; those before the first know all before them. */
inline look(nearest_tile, step, first_tile) {
  d_step {
    lane = 0;
    do
    :: lane < GROUP ->
         at = nearest_tile - lane * step;
         there[lane] = at >= first_tile;
         found[lane] = (there[lane] -> 0 : PREFIX);
#ifdef NO_ACQUIRE
         if :: there[lane] -> early_a[lane] = aggregates[at]; early_p[lane] = prefixes[at] :: else fi;
#endif
         lane++
    :: else -> break
    od;
    at = 0; lane = 0
  }
  do
  :: if :: up = true :: up = false fi;                                  /* the order in which lanes are served */
     do
     :: lane < GROUP ->
          if
          :: found[TURN] != PREFIX ->
               at = nearest_tile - TURN * step;
#ifdef ARRAYS
               found[TURN] = PUBLISHED(status[at])                                  /* e */
#elif defined(TORN_LOAD)
               found[TURN] = PUBLISHED(status[at]); seen[TURN] = values[at]
#elif defined(TORN_LOAD_LAST)
               seen[TURN] = values[at]; found[TURN] = PUBLISHED(status[at])
#else
               d_step { found[TURN] = PUBLISHED(status[at]); seen[TURN] = values[at] } /* n */
#endif
          :: else
          fi;
          lane++
     :: else -> break
     od;
     atomic {
       lane = 0; known = GROUP; waits = false;
       do :: lane < GROUP -> if :: known == GROUP && found[lane] == PREFIX -> known = lane :: else fi; lane++ :: else -> break od;
       lane = 0;
       do :: lane < GROUP -> if :: lane < known && found[lane] == 0 -> waits = true :: else fi; lane++ :: else -> break od;
       waits = waits || known == GROUP; lane = 0
     }
     if :: waits -> skip :: else -> break fi
  od;
#if defined(ARRAYS) && !defined(NO_ACQUIRE)
  do                                                                    /* f */
  :: lane < GROUP ->
       if
       :: there[lane] && lane <= known -> found[lane] = PUBLISHED(status[nearest_tile - lane * step])
       :: else
       fi;
       lane++
  :: else -> break
  od;
#endif
  atomic {
    lane = 0; nearest = GROUP;
    do :: lane < GROUP -> if :: nearest == GROUP && found[lane] == PREFIX -> nearest = lane :: else fi; lane++ :: else -> break od;
#ifdef KNOWN_KEPT
    nearest = known;
#endif
    assert(nearest <= known);
    here = 0; lane = nearest + 1;
    do
    :: lane > 0 ->
         lane--;
         at = nearest_tile - lane * step;
         if
         :: there[lane] ->
#ifdef NO_ACQUIRE
              value = (found[lane] == PREFIX -> early_p[lane] : early_a[lane]);
#elif defined(ARRAYS)
              value = (found[lane] == PREFIX -> prefixes[at] : aggregates[at]); /* g h */
#else
              value = seen[lane];
#endif
              assert(found[lane] != 0 && value != 0);
              JOIN(here, here, value)
         :: else
         fi
    :: else -> break
    od;
    at = 0; lane = 0; value = 0; known = 0; up = false;
    do
    :: lane < GROUP ->
         found[lane] = 0; there[lane] = false;
#ifndef ARRAYS
         seen[lane] = 0;
#endif
         lane++
    :: else -> break
    od;
    lane = 0
  }
}

proctype block() {
  byte tile, place, first, lane, known, nearest, here, within, group, before, through, value;
  byte found[GROUP];
#ifndef ARRAYS
  byte seen[GROUP];
#endif
  bool there[GROUP];
  bool waits, closes, knows, up;
  short start, at;
#ifdef NO_ACQUIRE
  byte early_a[GROUP], early_p[GROUP];
#endif
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
       begun < TILES -> begun++;
       tile = tickets; tickets++;                                       /* a */
#if defined(KEPT) && !defined(TICKET_KEPT)
       if :: tile == TILES - 1 -> tickets = 0 :: else fi;                   /* b */
#endif
#endif
       first = 0; knows = false;
#ifdef SEGMENTS
       first = tile - had[tile]; knows = begins[tile];
#endif
       place = (tile - first) % GROUP; start = tile - place; closes = (place == GROUP - 1)
     }
     if
     :: !closes && !knows -> TELL(aggregates, AGGREGATE, 1 << tile)     /* c d m */
     :: else
     fi;
     if
     :: knows -> TELL(prefixes, PREFIX, 1 << tile)
     :: else
     fi;
     look(tile - 1, 1, start);
     d_step { within = here; group = 0; if :: knows -> skip :: else -> JOIN(group, within, 1 << tile) fi }
     if
     :: closes && !knows -> TELL(aggregates, AGGREGATE, group)          /* i j o */
     :: else
     fi;
     before = 0;
#ifdef SEGMENTS
     if
     :: nearest == place ->
#else
     if
     :: true ->
#endif
#ifdef LINE_FORGOTTEN
          look(start - 1, GROUP, 0);
#else
          look(start - 1, GROUP, first);
#endif
          before = here
     :: else
     fi;
     if
     :: !knows ->
          d_step { JOIN(through, before, group) }
          if
          :: TELLS -> TELL(prefixes, PREFIX, through)                   /* k l p */
          :: else
          fi;
          if
          :: tile == TILES - 1 -> all_come_to = through                 /* q */
          :: else
          fi
     :: else
     fi;
     atomic {
       JOIN(through, before, within);
       assert(through == (1 << tile) - (1 << first));                   /* all tiles of its line before this one */
       ended++;
       tile = 0; place = 0; first = 0; nearest = 0; here = 0; within = 0; group = 0; before = 0; through = 0; start = 0;
       waits = false; closes = false; knows = false
     }
#ifdef NO_TICKETS
     again: skip
  :: atomic { begun == (1 << TILES) - 1 -> break }
#else
  :: atomic { begun == TILES -> break }
#endif
  od
}

init {
  byte i, b;
  atomic {
    i = 0;
    do
    :: i < TILES ->
#ifdef KEPT
         if :: status[i] = 0 :: status[i] = PREFIX fi;                  /* of epoch 0 */
#endif
#ifdef ARRAYS
         aggregates[i] = GARBAGE; prefixes[i] = GARBAGE;
#else
         values[i] = GARBAGE;
#endif
#ifdef SEGMENTS
         if
         :: i > 0 -> had[i] = i - b                                     /* the first segment goes on, and may end here */
         :: had[i] = 0; begins[i] = true
         fi;
         if :: begins[i] = true :: i > 0 -> skip fi;
         if :: begins[i] -> b = i :: else fi;
#endif
         i++
    :: else -> break
    od;
    i = 0;
    do :: i < AT_WORK -> run block(); i++ :: else -> break od;
    i = 0; b = 0
  }
  ended == TILES;
#ifdef KEPT
  assert(tickets == 0);
#endif
#ifndef SEGMENTS
  assert(all_come_to == (1 << TILES) - 1)                               /* what the end of the walk reads */
#endif
}

ltl ends { <> (ended == TILES) }
