"""Every figure there is, in the order of the page."""

from tests.paper import buc

FIGURES = (*buc.FIGURES,)
