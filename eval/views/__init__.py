"""Views of results: scorecards, languages, pages, citations, and the output of commands."""
