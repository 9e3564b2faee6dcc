"""The live page: the inspector's page with an editor, data and results, from a server on this computer.

    server      serves the page and answers its questions, within limits (nessie serve)
    workers     holds the child processes that answer, and ends those that take too long
    worker      is such a process
    confined    confines a process: its memory, its files
    page        makes the page
    live        answers a question: what the compiler makes of a program, what a call gives
    moved       tells programs that differ in blanks and comments alone

    live.js     the page's part that asks: the bar, the editor's text, what is drawn of the answers
    editor.js   the editor, of the parts that codemirror.js has
    live.css    their style

codemirror.js is the editor CodeMirror in one file; codemirror.txt says how it was made, and its licence.
"""
