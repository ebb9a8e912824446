"""The few numbers that alarm or scale, as lines of the log that CloudWatch reads as metrics (embedded metric format)."""
