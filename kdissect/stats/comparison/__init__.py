"""Two captures side by side: what each client does in one and in the other, and what differs, most telling
first.

`sides` reads one capture, `alignment` finds who of one is who of the other, `differences` compares them.
"""
