;;; nesl-words.el --- NESL's words, from the compiler's tables -*- lexical-binding: t -*-

;; Written by editors/build.py.

(defconst nesl-keywords
  '("function" "datatype" "closure" "else" "if" "in" "let" "then" "time" "and" "nand" "nor" "or" "xor")
  "The words of the language.")

(defconst nesl-constants
  '("f" "t")
  "The booleans.")

(defconst nesl-types
  '("bool" "char" "float" "int")
  "The types that have names.")

(defconst nesl-functions
  '("abrev_string" "abs" "acos" "all" "and_scan" "any" "append" "append_string_to_file" "asin" "atan" "blocks" "blocks2" "bool_string" "bottop" "btoi" "buckets" "ceil" "char_code" "char_rank" "char_string" "clamp" "close_check" "close_file" "code_char" "collect" "cond_put" "cons" "cos" "cosh" "count" "create_table" "diff" "digitp" "dist" "div_internal" "drop" "elt" "elt_nocheck" "enumerate" "eput" "eql" "error" "even_elts" "evenp" "exp" "exp_string" "expt" "fast_create_table" "find" "first" "flag_merge" "flag_partition" "flatten" "float" "float_num" "float_string" "float_to_any" "floor" "fseq" "gcd" "get" "get_environment_variable" "get_nocheck" "grep" "group_by" "group_by_separator_flags" "group_by_space" "hash" "hashtable" "head_rest" "histogram" "identity" "inclusive_scan" "index" "inf" "insert_table" "int_collect" "int_string" "int_to_any" "interleave" "intersection" "iseq" "iseq1" "isqrt" "join" "justify_text" "k_smallest" "kth_smallest" "length" "length_from_flags" "linify" "ln" "log" "lowercase" "lshift" "make_segdes" "make_sequence" "make_table" "map" "mark_duplicates" "max" "max_by" "max_index" "max_int" "max_scan" "max_val" "median" "merge" "min" "min_by" "min_index" "min_int" "min_scan" "min_val" "minusp" "mirror" "mod" "mult_scan" "name" "nan" "negate" "nest" "newline" "next" "next_char" "not" "nullstr" "odd_elts" "oddp" "one" "open_append_file" "open_check" "open_in_file" "open_out_file" "or_scan" "pack" "pack_index" "pad" "pad2" "pad_with" "pad_with2" "parity" "parse_float" "parse_int" "parse_int_vect" "parse_unsigned_int" "partition" "permute" "permute_nocheck" "pi" "plus_scan" "plusp" "previous" "print" "print_char" "print_debug" "print_line" "print_string" "printl" "product" "prompt" "put" "rand" "rand_seed" "rank" "rank_any" "rank_down" "read" "read_char" "read_check" "read_float_seq" "read_float_seq_from_file" "read_int_seq" "read_int_seq_from_file" "read_line" "read_object" "read_object_from_file" "read_string" "read_string_from_file" "read_word" "reciprocal" "reduce" "rem" "rem_internal" "remove_duplicates" "rep" "rest" "rest_tail" "reverse" "rotate" "round" "rshift" "scan" "search_for_subseqs" "search_sorted" "search_table" "select" "seq_dist" "set_difference" "shell_command" "sin" "sinh" "slice" "slide" "slide2" "snoc" "sort" "sort_any" "sort_by" "space" "spawn" "split" "split_index" "sqrt" "stderr" "stdin" "stdout" "stream" "string" "string_eql" "subseq" "sum" "tab" "table_entries" "take" "tan" "tanh" "transpose" "trunc" "union" "unpack" "unzip" "uppercase" "vpair" "vsep" "wordify" "wrap" "write" "write_add" "write_char" "write_check" "write_max" "write_min" "write_object" "write_object_to_file" "write_string" "write_string_to_file" "xor_scan" "zero" "zerop" "zip" "zip3")
  "The names of the library.")

(provide 'nesl-words)
;;; nesl-words.el ends here
