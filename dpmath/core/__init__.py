"""The base of the mathematics: the occupancy array, exact losses, sensitivity, bias."""
