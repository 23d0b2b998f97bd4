"""The columns of tables: their titles, their cells, and the order in which they are dropped if there is
little space.
"""
