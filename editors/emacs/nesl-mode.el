;;; nesl-mode.el --- NESL, served by nessie lsp -*- lexical-binding: t -*-

;; (add-to-list 'load-path "…/editors/emacs")
;; (require 'nesl-mode)
;; (add-hook 'nesl-mode-hook #'eglot-ensure)

;;; Code:

(require 'nesl-words)

(defvar nesl-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?% "!" table)          ; a comment goes from one % to the next
    (modify-syntax-entry ?_ "w" table)
    table))

(defvar nesl-font-lock-keywords
  `(("\\_<\\(?:function\\|datatype\\)\\_>[ \t]+\\(\\_<\\w+\\_>\\)" 1 font-lock-function-name-face)
    (,(regexp-opt nesl-keywords 'symbols) . font-lock-keyword-face)
    (,(regexp-opt nesl-constants 'symbols) . font-lock-constant-face)
    (,(regexp-opt nesl-types 'symbols) . font-lock-type-face)
    (,(regexp-opt nesl-functions 'symbols) . font-lock-builtin-face)))

;;;###autoload
(define-derived-mode nesl-mode prog-mode "NESL"
  "NESL, nested data parallelism."
  (setq-local comment-start "% ")
  (setq-local comment-end " %")
  (setq-local font-lock-defaults '(nesl-font-lock-keywords nil t))
  (setq-local indent-tabs-mode nil))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.nesl\\'" . nesl-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(nesl-mode . ("nessie" "lsp"))))

(provide 'nesl-mode)
;;; nesl-mode.el ends here
