"""The text of an ORDER's firsts on the CPU: each row has a hash table of the keys that it has had so far.

A slot is a key's code and the position where it stood first, -1 for a free slot. A key begins to look for itself where
its hash says, and goes on to the next slots. The table begins small, so that few different keys stay in the caches; it
becomes four times as large when half of it is taken, at most twice as large as the row. `heads` are the positions that
are in it. NaN, which equals nothing, is not put there.
"""
from __future__ import annotations

SMALL = 256                     # slots at first
GREATEST = " and code /= greatest"      # no NaN

FIRSTS = """
host {name}_firsts(int first_chunk, int last_chunk, {given}{type}[] keys, writable int[] table, writable int[] heads,
                   writable int[] firsts) {{
  int least = -9223372036854775808;
  int greatest = 9223372036854775807;
  int infinite = 9218868437227405312;
  for (row = first_chunk * {chunk}; row < min(last_chunk * {chunk}, {segments}); row += 1) {{
    int low = {low};
    int high = {high};
    int most = 2 * (high - low);
    int begin = 4 * low;
    var int slots = min(most, {small});
    var int taken = low;
    for (at = 0; at < slots; at += 1) {{
      table[begin + 2 * at + 1] = -1;
    }}
    for (i = low; i < high; i += 1) {{
      {type} key = keys[i];
      int code = {code};
      var int slot = begin + 2 * mul_high(mix(code), slots);
      var int first = table[slot + 1];
      while (first >= 0 and table[slot] /= code) {{
        slot = slot + 2 == begin + 2 * slots ? begin : slot + 2;
        first = table[slot + 1];
      }}
      firsts[i] = first < 0 ? i : first;
      if (first < 0{number}) {{
        table[slot] = code;
        table[slot + 1] = i;
        heads[taken] = i;
        taken = taken + 1;
        if (2 * (taken - low) > slots and slots < most) {{
          slots = min(most, 4 * slots);
          for (free = 0; free < slots; free += 1) {{
            table[begin + 2 * free + 1] = -1;
          }}
          for (moved = low; moved < taken; moved += 1) {{
            int head = heads[moved];
            {type} head_key = keys[head];
            int head_code = {head_code};
            var int place = begin + 2 * mul_high(mix(head_code), slots);
            while (table[place + 1] >= 0) {{
              place = place + 2 == begin + 2 * slots ? begin : place + 2;
            }}
            table[place] = head_code;
            table[place + 1] = head;
          }}
        }}
      }}
    }}
  }}
}}
"""
