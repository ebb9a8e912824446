"""Alarms, defined once as data, from which Prometheus's rules and CloudWatch's alarms are generated."""
