"""Several boxes on one machine: network namespaces, each with a home and a supervisor."""
