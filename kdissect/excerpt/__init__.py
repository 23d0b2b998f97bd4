"""Parts of captures: the packets of some exchanges, with the packets needed to understand them.

Above `api`, because whole captures are read again for it. Rules do not see it, and it does not see rules.
"""
