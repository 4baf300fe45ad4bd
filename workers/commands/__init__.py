"""The commands that this project adds: module and help by noun."""

NOUNS = {
    "ingest": ("workers.commands.ingest", "read access logs"),
    "report": ("workers.commands.report", "print the documents of a collection"),
}
