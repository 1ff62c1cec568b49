"""What all of the mathematics rests on: the occupancy array, exact losses, sensitivity, bias."""
