"""Commands. One module a noun; `main` has the table of them."""
