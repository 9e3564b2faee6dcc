"""The text, in loops, of the function that sorts by itself what fits a block's shared memory (skeletons.cuda.order).

A bitonic sort: in each round two elements that are `reach` apart are put in order, of all pairs; a round begins when
the last has ended. Of equal keys the one that came first is less, so the order is that of the radix sort. Places beyond
the last element hold the greatest key, and come after all others with it.
"""
from __future__ import annotations

FEW = 2048                      # elements; 16 bytes each of shared memory, and a power of two

SMALL = """
cuda {name}_small(int n, {type}[] keys, writable {result}[] result, int[] errors) {{
  shared int held[{few}];
  shared int from[{few}];
  {unless_stopped}
  {limits}
  for (i = threadIdx; i < {few}; i += {threads}) {{
    var int bits = most;
    if (i < n) {{
      {type} key = keys[i];
      int code = {code};
      bits = ({turned}) xor least;
    }}
    held[i] = bits;
    from[i] = i;
  }}
  for (a = 1; a < {rounds}; a += 1) {{
    if (lshift(1, a - 1) < n) {{
      for (b = 0; b < a; b += 1) {{
        int reach = lshift(1, a - 1 - b);
        barrier;
        for (c = threadIdx; c < {few} / 2; c += {threads}) {{
          int low = c + (c and neg(reach));
          int high = low + reach;
          int low_bits = held[low];
          int high_bits = held[high];
          int low_from = from[low];
          int high_from = from[high];
          bool after = low_bits > high_bits or low_bits == high_bits and low_from > high_from;
          if (after == ((rshift(low, a) and 1) == 0)) {{
            held[low] = high_bits;
            held[high] = low_bits;
            from[low] = high_from;
            from[high] = low_from;
          }}
        }}
      }}
    }}
  }}
  barrier;
  for (r = threadIdx; r < n; r += {threads}) {{
    int position = from[r];
    result[r] = {value};
  }}
}}
"""
