"""The workbench: take a case oneself, with the records beside it; and blind mode, without them."""

from deskgym.web.workbench import blind, episode, start, transfer

PAGES = (*start.PAGES, *transfer.PAGES, *episode.PAGES, *blind.PAGES)
