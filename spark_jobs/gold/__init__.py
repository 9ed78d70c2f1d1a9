"""Gold: windows over silver tables, and tables made by SQL or Python."""
