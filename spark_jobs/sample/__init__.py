"""A made-up retail company: its landing zone, of any size and always the same.

What a delivery may be stands here, where the help of `weir sample` finds it without loading what makes one.
"""

MIN_ORDERS, MAX_ORDERS = 100, 10_000_000
MAX_INCREMENT = 400  # later ones would come near the present, where the future bound depends on the clock
