"""What files of each format hold.

    json_format     .json and .jsonl
    json_text       parses JSON text to Python's values, piece by piece
    json_places     finds the JSON value that is of a wrong type
    numpy_format    .npy
    npz_format      .npz
    matrix_market   .mtx
    table           .csv and .tsv, read
    written_table   .csv and .tsv, written
    arrow_format    .arrow and .parquet
    text            .txt
    object_text     the text that write_object writes, in CMU NESL's format
"""
