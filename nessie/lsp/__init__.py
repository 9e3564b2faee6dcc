"""The language server: what editors ask about NESL's text while it is typed (nessie lsp).

    document        what is known of a text: errors, types, where names are bound and used
    kernels         the fused kernels that the expressions of a function end in
    actions         what can be written instead, as the hints of errors say
    words           what is told of a name or an expression, and what may be typed next
    places          places in texts as editors count them
    server          answers an editor's requests, by pygls

A text with errors keeps what was known of its functions when they were good last.
"""
