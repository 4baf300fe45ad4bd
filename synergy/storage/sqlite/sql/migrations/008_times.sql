-- Lists are limited to ranges of time: rows are found by the time of their creation.

CREATE INDEX unit_created ON unit (created_at);
CREATE INDEX journal_at ON journal (at);
CREATE INDEX run_created ON run (created_at);
CREATE INDEX event_at ON event (at);
