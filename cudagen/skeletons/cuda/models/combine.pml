/* Writes that are combined (elements.py; cuda.py and operators.py say by what): threads come to a place in any order.

   ints      atomicAdd and atomicMax, modelled as one by what they have in common: all is in the place at the end
   floats    atomic_float_max: floats are ordered by their bits, those with a sign the other way round, and what is no
             number wins. A float has 4 bits here, a sign and 3 more, of which 7 is no number and 6 is infinite. The
             helper looks for one that is in place; else a value goes by an atomic minimum of words without sign, or
             by a maximum of words with sign. -DFLOATS
   bools     a store of true by whoever has one: no order among these matters

   safe
   safe  -DFLOATS
   ends

   mistake LOAD_THEN_STORE  assertion    a place is read, and then written
   mistake NAN_UNSEEN       assertion    nobody looks for what is no number in the place: -DFLOATS
   mistake SIGN_OF_NAN      assertion    what is no number comes with its sign: -DFLOATS
   mistake ONE_ORDER        assertion    words with sign are compared, whatever the float's: -DFLOATS

   text "permute max", K_sweep, of ys:
     a  atomicMax ys
   text "permute max of other types", K_sweep, of ys bs cs:
     b  atomic_float_max ys
     d  atomic_bool_max bs
     c  atomicMax cs                                                                                       */
#define THREADS 3
#define SIGN 4
#define NAN 3
byte value[THREADS], place, at_first, ended;

#define IS_NAN(bits) (((bits) & 3) == NAN)
#define SIGNED(bits) ((bits) >= SIGN -> (bits) - 2 * SIGN : (bits))    /* as a word with sign */
/* floats in order: -infinite, ..., -0, 0, ..., infinite, no number */
#define RANK(bits) (IS_NAN(bits) -> 100 : ((bits) >= SIGN -> 3 - ((bits) & 3) : 4 + (bits)))

proctype thread(byte i) {
  byte there, bits;
  bits = value[i];
#ifdef FLOATS
#ifndef NAN_UNSEEN
  there = place;                                                        /* b */
  if :: IS_NAN(there) -> goto done :: else fi;
#endif
#ifndef SIGN_OF_NAN
  if :: IS_NAN(bits) -> bits = NAN :: else fi;
#endif
#ifndef ONE_ORDER
  if
  :: bits >= SIGN -> d_step { if :: bits < place -> place = bits :: else fi }
  :: else -> d_step { if :: SIGNED(bits) > SIGNED(place) -> place = bits :: else fi }
  fi;
#else
  d_step { if :: SIGNED(bits) > SIGNED(place) -> place = bits :: else fi };
#endif
#else
#ifdef LOAD_THEN_STORE
  there = place; place = there | bits;
#else
  d_step { place = place | bits };                                      /* a c d */
#endif
#endif
  done: ended++
}

init {
  byte i, most;
  atomic {
#ifdef FLOATS
    select(i : 0 .. 7); place = i; at_first = i;
    select(i : 0 .. 7); value[0] = i;
    select(i : 0 .. 7); value[1] = i;
    select(i : 0 .. 7); value[2] = i;
#else
    i = 0;
    do :: i < THREADS -> value[i] = 1 << i; i++ :: else -> break od;
#endif
    i = 0;
    do :: i < THREADS -> run thread(i); i++ :: else -> break od
  }
  ended == THREADS;
  d_step {
#ifdef FLOATS
    most = at_first; i = 0;
    do :: i < THREADS -> if :: RANK(value[i]) > RANK(most) -> most = value[i] :: else fi; i++ :: else -> break od;
    assert(RANK(place) == RANK(most))
#else
    assert(place == 7)
#endif
  }
}

ltl ends { <> (ended == THREADS) }
