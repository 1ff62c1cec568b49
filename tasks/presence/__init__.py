"""The second privacy model: that somebody was there at all is secret, where, when and how often too."""
