"""Every figure there is, in the order of the page."""

from tests.paper import buc, cpl_austin, cpl_figures, dame

FIGURES = (*buc.FIGURES, *cpl_austin.FIGURES, *cpl_figures.FIGURES, *dame.FIGURES)
