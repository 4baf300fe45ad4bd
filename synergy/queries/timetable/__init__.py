"""Queries of the timetable: trees and jobs, why a job is not done, remedies, audits."""
