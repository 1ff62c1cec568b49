"""How errors of cells go together, by few factors, for those who ask about areas. Knows ``core``."""
