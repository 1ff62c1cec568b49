"""The planner: least loss for a promise, most cells or least error for a loss, with bounds."""
