"""Model clients: Chat Completions and Messages behind one protocol, with one owner of retries."""

from deskgym.models.meter import Meter, ModelCall, Prices, Usage

__all__ = ["Meter", "ModelCall", "Prices", "Usage"]
