"""In the place of hypothesis, which no user installs: where it is, pandera spends a tenth of a second on its import."""

raise ImportError("only the tests need it")
