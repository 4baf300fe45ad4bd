"""Metrics: collectors for `prometheus_client`, and throughput by minute."""
