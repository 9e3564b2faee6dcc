setlocal commentstring=%\ %s\ %
setlocal formatprg=nessie\ fmt\ -
setlocal makeprg=nessie\ check\ %:S
setlocal errorformat=%E%t%*[^:]:\ %m,%C\ %#-->\ %f:%l:%c,%-C%.%#,%-G%.%#
setlocal expandtab shiftwidth=2
