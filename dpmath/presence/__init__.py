"""The whole map where presence is secret too: noisy sums in one ball a user, and estimates of all public cells."""
