"""What stands on no conversation: time and its limits, breakers, bounded memory, tasks that are looked after."""
