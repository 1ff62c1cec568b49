"""Every figure there is, in the order of the page."""

from tests.paper import buc, cpl_austin, cpl_figures, dame, dame_rates, sti_figures

FIGURES = (
    *buc.FIGURES,
    *cpl_austin.FIGURES,
    *cpl_figures.FIGURES,
    *sti_figures.FIGURES,
    *dame.FIGURES,
    *dame_rates.FIGURES,
)
