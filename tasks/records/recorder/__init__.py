"""Recording: fetches a live feed again and again, and keeps its snapshots."""
