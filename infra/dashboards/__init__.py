"""Dashboards for Grafana and CloudWatch, generated from one list of panels."""
