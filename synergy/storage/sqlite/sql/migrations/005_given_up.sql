-- then: mark_given_up
-- Jobs that were skipped because their unit was given up have a state of their own.
--
-- The journal entry of such a skip names the unit; its event is renamed. The entry of a skip by an
-- operator, or of one that follows from another skip, names no unit and is not changed. The bytes
-- of the jobs are changed by the step that the first line names, in Python, because their places
-- follow from the calendar. synergy/storage/upgrade_given_up.py explains the rule.

UPDATE journal SET event = 'job.given_up', after = 'given_up'
WHERE event = 'job.skipped' AND unit IS NOT NULL;
