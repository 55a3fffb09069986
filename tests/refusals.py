"""What a refusal says."""

import re


def exactly(message: str) -> str:
    """Return a pattern for `pytest.raises` that matches this message alone."""
    return f"^{re.escape(message)}$"
