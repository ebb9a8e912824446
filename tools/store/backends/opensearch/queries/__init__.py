"""What the cluster is asked: each module makes searches, and none sends one."""
