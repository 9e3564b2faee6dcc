"""The text of an ORDER's firsts on the CPU: hash tables of the keys there are, and where each stood first.

A slot of a table is a key's code and a position, -1 for a free slot. A key begins to look for itself where its hash
says, and goes on to the next slots. The table begins small, so that few different keys stay in the caches; it becomes
four times as large when a quarter of it is taken, at most twice as large as what is looked up in it. `heads` are the
positions that are in it. NaN, which equals nothing, is not put there.

Of segments each row has a table. A flat space is cut into chunks, each of which has one; then the chunks' heads, of
which there are several with the same key, are looked up in tables of their own:

    firsts      each element's first in its chunk; how many heads of each part the chunk has, by bits of their hashes
    starts      where each chunk's heads of each part go
    parts       their positions and codes go there, so that each part has them in order
    joined      each head's first instead of its code, by a table for each part
    found       each element's first is its head's

All but the lookups read and write in order, or what fits into a cache.
"""
from __future__ import annotations

SMALL = 256                     # slots at first
PARTS = 256                     # of all heads
SHARE = 4                       # of a chunk, whose table fits into a core's cache
GREATEST = " and code /= greatest"      # no NaN

FREE = """    for (at = 0; at < slots; at += 1) {{
      table[begin + 2 * at + 1] = -1;
    }}
"""

LOOKUP = """      var int slot = begin + 2 * mul_high(mix(code), slots);
      var int first = table[slot + 1];
      while (first >= 0 and table[slot] /= code) {{
        slot = slot + 2 == begin + 2 * slots ? begin : slot + 2;
        first = table[slot + 1];
      }}
"""

TABLE = """
    int most = 2 * (high - low);
    int begin = 4 * low;
    var int slots = min(most, {small});
    var int taken = low;
""" + FREE + """    for (i = low; i < high; i += 1) {{
      {type} key = keys[i];
      int code = {code};
""" + LOOKUP + """      firsts[i] = first < 0 ? i : first;
      if (first < 0{number}) {{
        table[slot] = code;
        table[slot + 1] = i;
        heads[taken] = i;
        taken = taken + 1;
        if (4 * (taken - low) > slots and slots < most) {{
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
    }}"""

NUMBERS = """
  int least = -9223372036854775808;
  int greatest = 9223372036854775807;
  int infinite = 9218868437227405312;"""

ROWS = """
host {name}_firsts(int first_chunk, int last_chunk, {given}{type}[] keys, writable int[] table, writable int[] heads,
                   writable int[] firsts) {{""" + NUMBERS + """
  int each = max(1, min({chunk}, {segments} / {chunk}));
  for (row = first_chunk * each; row < min(last_chunk * each, {segments}); row += 1) {{
    int low = {low};
    int high = {high};""" + TABLE + """
  }}
}}
"""

BOUNDS = """
    int low = chunk * {width};
    int high = min({size}, low + {width});"""

PART = """
      {type} part_key = keys[{head}];
      int part_code = {part_code};
      int at_part = chunk * {counters} + (mix(part_code) and {parts} - 1);"""

WHOLE = """
host {name}_firsts(int first_chunk, int last_chunk, {given}{type}[] keys, writable int[] table, writable int[] heads,
                   writable int[] counts, writable int[] firsts) {{""" + NUMBERS + """
  for (chunk = first_chunk; chunk < last_chunk; chunk += 1) {{""" + BOUNDS + TABLE + """
    if ({size} > {width}) {{
      for (part = 0; part < {parts}; part += 1) {{
        counts[chunk * {counters} + part] = 0;
      }}
      counts[chunk * {counters} + {parts}] = taken;
      for (counted = low; counted < taken; counted += 1) {{""" + PART.replace("{head}", "heads[counted]") + """
        counts[at_part] = counts[at_part] + 1;
      }}
    }}
  }}
}}

host {name}_starts(int first_chunk, int last_chunk, {given}writable int[] counts) {{
  var int before = 0;
  for (part = 0; part < {parts}; part += 1) {{
    for (chunk = 0; chunk < ({size} + {width} - 1) / {width}; chunk += 1) {{
      int count = counts[chunk * {counters} + part];
      counts[chunk * {counters} + part] = before;
      before = before + count;
    }}
  }}
}}

host {name}_parts(int first_chunk, int last_chunk, {given}{type}[] keys, int[] heads, writable int[] counts,
                  writable int[] parts, writable int[] codes) {{""" + NUMBERS + """
  for (chunk = first_chunk; chunk < last_chunk; chunk += 1) {{
    for (moved = chunk * {width}; moved < counts[chunk * {counters} + {parts}]; moved += 1) {{
      int head = heads[moved];""" + PART.replace("{head}", "head") + """
      int target = counts[at_part];
      parts[target] = head;
      codes[target] = part_code;
      counts[at_part] = target + 1;
    }}
  }}
}}

host {name}_joined(int first_chunk, int last_chunk, {given}int[] counts, int[] parts, writable int[] codes,
                   writable int[] table) {{
  int last = (({size} + {width} - 1) / {width} - 1) * {counters};
  for (part = first_chunk; part < last_chunk; part += 1) {{
    int low = part == 0 ? 0 : counts[last + max(part - 1, 0)];
    int high = counts[last + part];
    int begin = 4 * low;
    int slots = 2 * (high - low);
""" + FREE + """    for (i = low; i < high; i += 1) {{
      int code = codes[i];
""" + LOOKUP + """      if (first < 0) {{
        first = parts[i];
        table[slot] = code;
        table[slot + 1] = first;
      }}
      codes[i] = first;
    }}
  }}
}}

host {name}_found(int first_chunk, int last_chunk, {given}int[] counts, int[] parts, int[] codes,
                  writable int[] firsts) {{
  int last = (({size} + {width} - 1) / {width} - 1) * {counters};
  for (chunk = first_chunk; chunk < last_chunk; chunk += 1) {{""" + BOUNDS + """
    for (part = 0; part < {parts}; part += 1) {{
      int end = counts[chunk * {counters} + part];
      int before = chunk * {counters} + part - {counters};
      int start = chunk > 0 ? counts[max(before, 0)] : part > 0 ? counts[last + max(part - 1, 0)] : 0;
      for (at = start; at < end; at += 1) {{
        firsts[parts[at]] = codes[at];
      }}
    }}
    for (i = low; i < high; i += 1) {{
      int head = firsts[i];
      firsts[i] = head < low ? head : firsts[head];
    }}
  }}
}}
"""
