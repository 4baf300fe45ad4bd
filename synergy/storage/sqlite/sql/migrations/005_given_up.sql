-- then: mark_given_up
-- Jobs that were skipped because their unit was given up have a state of their own.
--
-- The journal's entry of such a skip names the unit, and gets the name that the event has now. The
-- entries of a person's skip, and of one that follows from another, name none and stay as they
-- are. The bytes of the jobs, whose places follow from the calendar, are changed by the step of
-- the program that the first line names: by the unit where the journal has forgotten the entry.
-- synergy/storage/given_up.py says how.

UPDATE journal SET event = 'job.given_up', after = 'given_up'
WHERE event = 'job.skipped' AND unit IS NOT NULL;
