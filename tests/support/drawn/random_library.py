"""The functions that random programs call: recursions of every shape, parallel and per element."""

LIBRARY = """
% a loop per element %
function gcd_of(a, b) = if b == 0 then a else gcd_of(b, mod(a, b));
function steps(n, c) = if n < 2 then c else if mod(n, 2) == 0 then steps(n / 2, c + 1) else steps(3 * n + 1, c + 1);

% per element, but no loop %
function factorial(n) = if n < 2 then 1 else n * factorial(n - 1);
function fib(n) = if n < 2 then n else fib(n - 1) + fib(n - 2);
function ackermann(m, n) =
  if m == 0 then n + 1 else if n == 0 then ackermann(m - 1, 1) else ackermann(m - 1, ackermann(m, n - 1));
function halving(n) = if n == 0 then (0, 1) else let (s, p) = halving(n / 2) in (s + rem(n, 2), p * 2 - s);
function risky(n) = if n < 1 then 6 / n else 1 + risky(n - 2) * risky(n - 3);
function is_odd(n) : int -> bool;
function is_even(n) = if n == 0 then t else is_odd(n - 1);
function is_odd(n) : int -> bool = if n == 0 then f else is_even(n - 1);

% per element, with sequences that they read %
function bisected(v, x, low, high) =
  if low >= high then low
  else let m = (low + high) / 2 in if v[m] < x then bisected(v, x, m + 1, high) else bisected(v, x, low, m);
function prefix(a, b, i) = if i == #a or i == #b then i else if a[i] == b[i] then prefix(a, b, i + 1) else i;
function hops(v, i, n) = if n == 0 then i else 1 + hops(v, v[i], n - 1);
function inner(m, i, j) =
  if i >= #m then j else if j >= #m[i] then inner(m, i + 1, j - #m[i]) else m[i][j] + inner(m, i + 1, j);
function after(v, x) = if #v == 0 then v else if v[0] == x then v else after(drop(v, 1), x);
function either(v, w, n) = if n < 1 then v else either(w, v, n - 1);

% two results %
function quotient_and_rest(a, b) = (a / b, mod(a, b));
function extremes(v) = if #v == 0 then (0, 0) else (min_val(v), max_val(v));
function both_sides(v, p) = ({e in v | e < p}, {e in v | e >= p});
function largest_and_others(v) =
  if #v == 0 then (0, v) else let k = max_index(v) in (v[k], {e : e in v; j in [0:#v] | j /= k});

% branching %
function quick(v) =
  if #v < 2 then v
  else let p = v[#v / 2];
           low = {e in v | e < p}; same = {e in v | e == p}; high = {e in v | e > p};
           parts = {quick(w) : w in [low, high]}
       in parts[0] ++ (same ++ parts[1]);
function tree(v, k) = if k < 1 then #v else 1 + sum({tree({e in v | mod(e, 2) == r}, k - 1) : r in [0, 1]});
function unguarded(v) = 1 + sum({unguarded({e - 1 : e in v | e < p}) : p in v | p > 0 and p < 4});
function down_even(v) : [int] -> int;
function down(v) = if #v == 0 then 0 else if mod(sum(v), 2) == 0 then down_even(drop(v, 1)) else 1 + down(drop(v, 1));
function down_even(v) : [int] -> int = if #v == 0 then 0 else 2 + down({e + 1 : e in drop(v, 1)});

% rows as results %
function halves(v, k) =
  if #v < 2 or k < 1 then [v]
  else let h = #v / 2 in flatten({halves(w, k - 1) : w in partition(v, [h, #v - h])});
function digits(n) = if n < 10 then [n] else digits(n / 10) ++ [mod(n, 10)];
function suffixes(v) = if #v == 0 then [v] else [v] ++ suffixes(drop(v, 1));
function doubled(k, v) = if k < 1 then [v] else flatten({doubled(k - 1, v) : z in [0:2]});

% arguments selected %
function choose(k, v, w) =
  if k < 1 then v else let z = sum([0:k]) in (if z >= 0 then choose(k - 1, w, v) else v);
function swap_rows(k, v, m) =
  if k < 1 then (v, m) else swap_rows(k - 1, (if #m > 0 then m[0] else v), {r in m | #r /= k});
function one_of(c, v, w) = if c then v else {e + 1 : e in w};
function longest(m, v) = if #m == 0 then v else longest(drop(m, 1), if #m[0] > #v then m[0] else v);
"""
