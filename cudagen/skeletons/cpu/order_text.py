"""The text of the function that sorts rows (skeletons.cpu.order), in the language of loops."""
from __future__ import annotations

CHUNK = 64                      # rows that a chunk sorts, at most: as many as leave about as many chunks
SHORT = 64                      # elements of a row that are counted, each with all others
MEDIUM = 65536                  # elements of a row whose positions take 16 bits

CODES = {
    "int": "{0}",
    "float": "{0} == least ? 0 : ({0} and greatest) > infinite ? greatest : {0} < 0 ? {0} xor greatest : {0}",
    "bool": "btoi({0})",
    "char": "char_code({0})",
}

SORT = """
host {name}_sort(int first_chunk, int last_chunk, {given}{type}[] keys, {result}writable int[] codes,
                 writable int[] order, writable int[] codes_2, writable int[] order_2) {{
  shared int starts[256];
  shared int near[{short}];
  shared int ranks[8];
  int least = -9223372036854775808;
  int greatest = 9223372036854775807;
  int infinite = 9218868437227405312;
  int each = max(1, min({chunk}, {segments} / {chunk}));
  for (chunk = first_chunk; chunk < last_chunk; chunk += 1) {{
    int beyond = min((chunk + 1) * each, {segments});
    if ({some}) {{
      for (row = chunk * each; row < beyond; row += 1) {{
        int low = {low};
        int high = {high};
        if (high - low == 1) {{
          {only}
        }}
        if (high - low <= {short}) {{
          {short_rows}
        }} else {{
          var int lowest = greatest;
          var int highest = least;
          var bool sorted = true;
          for (i = low; i < high; i += 1) {{
            {type} key = keys[i];
            int plain = {code};
            int code = {turned};
            codes[i] = code;
            order[i] = i;
            sorted = sorted and highest <= code;
            lowest = min(lowest, code);
            highest = max(highest, code);
          }}
          if (not(sorted)) {{
            int span = highest - lowest;
            var int bits = 8;
            while (bits < 64 and rshift(span, min(bits, 63)) /= 0) {{
              bits = bits + 8;
            }}
            var bool whole = high - low > {medium};
            if (not(whole)) {{
              {medium_rows}
            }}
            if (whole) {{
              {long_rows}
            }}
          }}
          {fetched}
        }}
      }}
    }}
  }}
}}
"""

SHORT_ROWS = """int count_s = high - low == 1 ? 0 : high - low;
      for (n_s = 0; n_s < count_s; n_s += 1) {{
        {type} key_s = keys[low + n_s];
        int plain_s = {short_code};
        near[n_s] = {short_turned};
      }}
      for (pad_s = count_s; pad_s < (count_s + 7 and -8); pad_s += 1) {{
        near[pad_s] = 0;
      }}
      for (block_s = 0; block_s < count_s; block_s += 8) {{
        int beyond_s = min(block_s + 8, count_s);
        for (lane_1 = 0; lane_1 < 8; lane_1 += 1) {{
          ranks[lane_1] = 0;
        }}
        for (before_s = 0; before_s < block_s; before_s += 1) {{
          int earlier_s = near[before_s];
          for (lane_2 = 0; lane_2 < 8; lane_2 += 1) {{
            ranks[lane_2] = ranks[lane_2] + btoi(earlier_s <= near[block_s + lane_2]);
          }}
        }}
        for (beside_s = block_s; beside_s < beyond_s; beside_s += 1) {{
          int other_s = near[beside_s];
          for (lane_3 = 0; lane_3 < 8; lane_3 += 1) {{
            int own_s = near[block_s + lane_3];
            bool first_s = other_s == own_s and beside_s < block_s + lane_3;
            ranks[lane_3] = ranks[lane_3] + btoi(other_s < own_s or first_s);
          }}
        }}
        for (after_s = beyond_s; after_s < count_s; after_s += 1) {{
          int later_s = near[after_s];
          for (lane_4 = 0; lane_4 < 8; lane_4 += 1) {{
            ranks[lane_4] = ranks[lane_4] + btoi(later_s < near[block_s + lane_4]);
          }}
        }}
        for (ranked_s = block_s; ranked_s < beyond_s; ranked_s += 1) {{
          int rank_s = low + ranks[ranked_s - block_s];
          {placed}
        }}
      }}"""

FETCHED = """for (fetched = low; fetched < high; fetched += 1) {
        values[fetched] = keys[order[fetched]];
      }"""

MEDIUM_ROWS = """int begin_m = lowest;
          int least_bit = max(bits - 32, 0);
          int most = min(bits, 32);
          for (packed = low; packed < high; packed += 1) {{
            int top = rshift(codes[packed] - begin_m, least_bit) and 4294967295;
            codes_2[packed] = lshift(top, 16) or packed - low;
          }}
          var int shift_m = 16;
          while (shift_m < 16 + most) {{
            {there}
            if (shift_m + 8 < 16 + most) {{
              shift_m = shift_m + 8;
              {back}
            }} else {{
              for (copied_m = low; copied_m < high; copied_m += 1) {{
                codes_2[copied_m] = order_2[copied_m];
              }}
            }}
            shift_m = shift_m + 8;
          }}
          for (unpacked = low; unpacked < high; unpacked += 1) {{
            order[unpacked] = low + (codes_2[unpacked] and 65535);
          }}
          if (least_bit > 0) {{
            int enough = 8 * (high - low);
            var int moves = 0;
            for (next_m = low + 1; next_m < high; next_m += 1) {{
              int position_m = order[next_m];
              int inserted_m = codes[position_m];
              if (codes[order[next_m - 1]] > inserted_m and moves <= enough) {{
                var int at_m = next_m;
                var bool more_m = true;
                while (more_m) {{
                  order[at_m] = order[at_m - 1];
                  at_m = at_m - 1;
                  moves = moves + 1;
                  more_m = at_m > low and codes[order[max(at_m - 1, low)]] > inserted_m;
                }}
                order[at_m] = position_m;
              }}
            }}
            if (moves > enough) {{
              whole = true;
              for (again = low; again < high; again += 1) {{
                order[again] = again;
              }}
            }}
          }}"""

LONG_ROWS = """var int shift = 0;
          while (shift < bits) {{
            int begin = lowest;
            {there}
            if (shift + 8 < bits) {{
              shift = shift + 8;
              {back}
            }} else {{
              for (copied = low; copied < high; copied += 1) {{
                codes[copied] = codes_2[copied];
                order[copied] = order_2[copied];
              }}
            }}
            shift = shift + 8;
          }}"""

PASS = """for (none{n} = 0; none{n} < 256; none{n} += 1) {{
              starts[none{n}] = 0;
            }}
            for (counted{n} = low; counted{n} < high; counted{n} += 1) {{
              int digit{n} = rshift({codes}[counted{n}]{less}, {shift}) and 255;
              starts[digit{n}] = starts[digit{n}] + 1;
            }}
            var int before{n} = low;
            for (start{n} = 0; start{n} < 256; start{n} += 1) {{
              int count{n} = starts[start{n}];
              starts[start{n}] = before{n};
              before{n} = before{n} + count{n};
            }}
            for (moved{n} = low; moved{n} < high; moved{n} += 1) {{
              int moving{n} = {codes}[moved{n}];
              int bucket{n} = rshift(moving{n}{less}, {shift}) and 255;
              int target{n} = starts[bucket{n}];
              starts[bucket{n}] = target{n} + 1;
              {codes_out}[target{n}] = moving{n};{also}
            }}"""

ABOUT = {"sort": "Each row in stable order of its keys: by counting the lesser ones, or digit by digit.",
         "firsts": "For each element the first of its row that has the same key, by a hash table for each row.",
         "starts": "Where each chunk's heads of each part go.",
         "parts": "Each chunk's heads go to their parts.",
         "joined": "For each head the first that has the same code, by a hash table for each part.",
         "found": "For each element what its head has found."}


def sort_text(name: str, values: bool, code: str, turned: str, type: str, **parts: str) -> str:
    """The function NAME_sort, which leaves positions or, in another array, the keys as `values`."""
    first, second = ("codes", "order"), ("codes_2", "order_2")
    medium = MEDIUM_ROWS.format(there=pass_text("_3", ("codes_2",), ("order_2",), "shift_m"),
                                back=pass_text("_4", ("order_2",), ("codes_2",), "shift_m"))
    long = LONG_ROWS.format(there=pass_text("", first, second, "shift", " - begin"),
                            back=pass_text("_2", second, first, "shift", " - begin"))
    short = SHORT_ROWS.format(
        type=type, short_code=code.format("key_s"), short_turned=turned.replace("plain", "plain_s"),
        placed="values[rank_s] = keys[low + ranked_s];" if values else "order[rank_s] = low + ranked_s;")
    return SORT.format(name=name, chunk=CHUNK, short=SHORT, medium=MEDIUM, short_rows=short, medium_rows=medium,
                       long_rows=long, fetched=FETCHED if values else "", type=type, code=code.format("key"),
                       only="values[low] = keys[low];" if values else "order[low] = low;", turned=turned,
                       result=f"writable {type}[] values, " if values else "", **parts)


def pass_text(mark: str, source: tuple[str, ...], target: tuple[str, ...], shift: str, less: str = "") -> str:
    """Moves the elements of the source by a digit of their codes, and their positions with them, if there are any."""
    also = "".join(f"\n              {b}[target{mark}] = {a}[moved{mark}];" for a, b in
                   zip(source[1:], target[1:], strict=True))
    return PASS.format(n=mark, codes=source[0], codes_out=target[0], shift=shift, less=less, also=also)
