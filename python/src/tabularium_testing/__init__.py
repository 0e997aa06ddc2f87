"""A fake table catalog for tests of code that uses LanceDB or Lance.

With pytest, the fixture ``tabularium`` gives each test an empty catalog. Elsewhere, ``fake()`` starts one::

    with fake() as tabularium:
        tabularium.seed({"flights": [{"delay": 75}]})
        assert tabularium.lancedb().open_table("flights").count_rows() == 1
"""

from .catalog import Tabularium, fake
from .errors import TabulariumError
from .records import Call, Clock, Fault

__all__ = ["Call", "Clock", "Fault", "Tabularium", "TabulariumError", "fake"]
__version__ = "0.1.0"
