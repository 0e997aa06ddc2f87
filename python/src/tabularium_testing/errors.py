class TabulariumError(Exception):
    """The fake could not be found, started or asked. The message says what would help."""
