"""Tables of results: columns and cells, shown as text, Markdown, LaTeX, CSV, HTML or a data frame."""
