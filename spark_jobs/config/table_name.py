"""The full name of a table: its layer and its name in it. A text, so that files, the ledger and JSON have it
as it is.
"""


class TableName(str):
    """`silver.orders`, or `quarantine.silver.orders` for the rows set aside from it, whose layer is
    `quarantine`.
    """

    __slots__ = ()

    @property
    def parts(self) -> tuple[str, str]:
        """The layer, and the name in it."""
        layer, _, name = self.partition(".")
        return layer, name

    @property
    def layer(self) -> str:
        return self.parts[0]

    @property
    def name(self) -> str:
        """Without its layer, as the pipeline file has it."""
        return self.parts[1]

    def is_in(self, *layers: str) -> bool:
        return self.layer in layers

    @property
    def is_bronze(self) -> bool:
        return self.is_in("bronze")

    @property
    def is_gold(self) -> bool:
        return self.is_in("gold")

    @property
    def is_sink(self) -> bool:
        return self.is_in("sink")

    @property
    def has_keys(self) -> bool:
        """Dimensions and silver tables have rows with a key, and tables of rows set aside beside them."""
        return self.is_in("dimension", "silver")
