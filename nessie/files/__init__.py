"""Files as values: `@path` arguments in, `-o path` results out. The ending of a name tells the format.

    files           the table of formats; opens, reads and writes files
    reading         a file that is being read, and the memory that this takes
    parts           what is known of a file's values before they are made
    fit             what a file holds, made what a parameter wants
    json_format     .json and .jsonl
    json_text       JSON text to Python's values, piece by piece
    json_places     which value of JSON is of a wrong type
    numpy_format    .npy and .npz
    matrix_market   .mtx
    table           .csv
    text            .txt
    object_text     what write_object writes, as CMU NESL does
"""
