"""Makes what people read: a day's numbers, the scheduler's pages, the budget."""
