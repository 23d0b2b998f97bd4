"""`--jobs N`: the connections of captures shared out over processes, their lines put in order by this one.

Every worker reads the whole input and analyzes the connections of one shard (`engine.shards`). Its messages
have places. This process puts what comes in the order of the places, numbers it, and asks `TopicNames` for
the names of topic ids, which depend on what other connections showed before. The output is that of one
process.
"""
