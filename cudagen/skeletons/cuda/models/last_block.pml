/* The end of a walk that its last block makes: the one that comes to its end last goes on, and finds what all others
   have left (skeletons/cuda/finish.py).

   Blocks leave their parts by plain stores, and draw a number of an atomic counter that is ordered; who draws the last
   adds up all parts and sets the counter back for the next launch: LAUNCHES of them use it, one after another. A check
   that fails leaves its key in the errors, by an atomic minimum; the block that goes on then stops the kernels behind:
   later launches do nothing, and no launch is stopped in its midst, by which some blocks would wait for others that have
   left. Parts of this launch are its number; what is left by another is not.

   safe
   ends

   mistake NOT_ORDERED      assertion    the counter orders nothing: a part may be seen late
   mistake ONE_TOO_SOON     assertion    the last but one goes on
   mistake NOT_SET_BACK     assertion    the next launch finds the counter as this one left it
   mistake STOPS_AT_ONCE    assertion    a block whose check fails stops the kernels itself, its own among them
   mistake KEY_STORED       assertion    keys are stored, not the least kept: what is reported depends on the order

   text "scan", K_sweep, of tickets parts errors:
     a  load errors
     -  atomicAdd tickets
     -  atomicExch tickets
     b  parts =
     c  atomic_add_ordered tickets
     e  atomicExch tickets
     d  load parts                                                                                        */
#ifndef BLOCKS
#define BLOCKS 3
#endif
#define LAUNCHES 3
#define NO_FAILURE 255

byte parts[BLOCKS], tickets, failure = NO_FAILURE, stopped;
byte launch = 1, ended, worked, left, cells, key[BLOCKS], fails, least = NO_FAILURE;

proctype block(byte number) {
  byte mine, done, i, late;
  mine = 1;
  do
  :: mine <= LAUNCHES ->
       launch == mine;
       if
       :: stopped -> left++; goto leaves                                /* a */
       :: else -> worked++
       fi;
       if
       :: mine == fails ->
#ifdef KEY_STORED
            failure = key[number];
#else
            d_step { if :: key[number] < failure -> failure = key[number] :: else fi };
#endif
#ifdef STOPS_AT_ONCE
            stopped = 1
#endif
       :: else
       fi;
#ifdef NOT_ORDERED
       late = 1;
       if :: parts[number] = mine; late = 0 :: skip fi;
#else
       parts[number] = mine;                                            /* b */
#endif
       d_step { done = tickets; tickets++ }                             /* c */
#ifdef ONE_TOO_SOON
       if
       :: done == BLOCKS - 2 ->
#else
       if
       :: done == BLOCKS - 1 ->
#endif
#ifndef NOT_SET_BACK
            tickets = 0;                                                /* e */
#endif
            i = 0;
            do :: i < BLOCKS -> assert(parts[i] == mine); i++ :: else -> break od;      /* d */
            cells = mine;
            if :: failure != NO_FAILURE -> stopped = 1 :: else fi
       :: else
       fi;
#ifdef NOT_ORDERED
       if :: late -> parts[number] = mine :: else fi;
#endif
       leaves:
       atomic {
         ended++; done = 0; i = 0; late = 0;
         if
         :: ended == BLOCKS ->                                               /* the launch has ended, and the next begins */
              assert(left == 0 || worked == 0);
              assert(left == 0 || fails < mine);
              assert(worked == 0 || cells == mine);
              assert(fails != mine || (stopped && failure == least));
              ended = 0; worked = 0; left = 0; launch++
         :: else
         fi
       }
       mine++
  :: else -> break
  od
}

init {
  byte i;
  atomic {
    select(i : 1 .. LAUNCHES + 1); fails = i;                           /* the launch in which checks fail, if any */
    i = 0;
    do
    :: i < BLOCKS ->
         if :: key[i] = 1 :: key[i] = 2 fi;
         if :: key[i] < least -> least = key[i] :: else fi;
         i++
    :: else -> break
    od;
    i = 0;
    do :: i < BLOCKS -> run block(i); i++ :: else -> break od
  }
}

ltl ends { <> (launch > LAUNCHES) }
