"""The five articles as data: what they say, what is true, and where to see it.

Every formula (F), printed value (V), figure or table (G), claim (C), script (S), concept (N) and
erratum (E) of the articles has an entry in the ledger, in English and in Japanese. The entries
stand in one TOML file an article.
"""

from ropewalk.articles._ledger import Entry, ledger, titles
from ropewalk.articles._table import Table, show

__all__ = ["Entry", "Table", "ledger", "show", "titles"]
