"""Access logs in: lines to visits, visits to events, events to the session workers."""
