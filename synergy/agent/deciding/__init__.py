"""The deciding half of an agent: due times, events and pending runs become launched runs."""
