-- The number and size of the messages in quarantine are kept beside them, so that its limits are
-- checked without reading the messages. An older quarantine that is too large is cut when the next message is added.

CREATE TABLE quarantine (
    messages INTEGER NOT NULL,
    bytes    INTEGER NOT NULL,
    dropped  INTEGER NOT NULL
) STRICT;

INSERT INTO quarantine
SELECT count(*), coalesce(sum(length(body) + length(CAST(reason AS BLOB))), 0), 0
FROM dead_message;

CREATE TRIGGER dead_message_added AFTER INSERT ON dead_message BEGIN
    UPDATE quarantine SET messages = messages + 1,
        bytes = bytes + length(NEW.body) + length(CAST(NEW.reason AS BLOB));
END;

CREATE TRIGGER dead_message_removed AFTER DELETE ON dead_message BEGIN
    UPDATE quarantine SET messages = messages - 1,
        bytes = bytes - length(OLD.body) - length(CAST(OLD.reason AS BLOB));
END;
