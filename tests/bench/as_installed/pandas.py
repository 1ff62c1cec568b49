"""In the place of pandas, which no user installs: where it is, pandera spends half a second on its import."""

raise ModuleNotFoundError("No module named 'pandas'", name="pandas")  # pandera reads the text
