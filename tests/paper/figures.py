"""Every figure there is, in the order of the page."""

from tests.paper import buc, dame

FIGURES = (*buc.FIGURES, *dame.FIGURES)
