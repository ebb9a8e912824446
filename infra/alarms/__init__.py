"""The alarms, defined once as data; Prometheus's rules and CloudWatch's alarms are both written from it."""
