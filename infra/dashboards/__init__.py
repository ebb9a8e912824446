"""Dashboards for Grafana and CloudWatch, written from one list of panels."""
