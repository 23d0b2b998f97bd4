"""Parts of captures: the packets of some exchanges, and what is needed to understand them without the rest.

Above `api`, because whole captures are read again for it; rules do not see it, nor it them.
"""
