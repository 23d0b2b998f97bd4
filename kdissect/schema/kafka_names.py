"""Names in output: the snake_case of Apache Kafka's names, the form the protocol guide prints."""

from functools import lru_cache

_KEPT_NAMES = 1024  # half of the names of a file stand in another one too; the whole schema has about 900

_APART = {capital: f"_{chr(capital).lower()}" for capital in range(ord("A"), ord("Z") + 1)}


@lru_cache(maxsize=_KEPT_NAMES)
def snake_case(name: str) -> str:
    """`ReplicaId` -> `replica_id`, `isKRaftController` -> `is_kraft_controller`.

    An underscore stands before a capital whose left neighbour is no capital
    (org.apache.kafka.message.MessageGenerator.toSnakeCase).
    """
    words = name.translate(_APART).split("_")
    if name.isascii() and "_" not in name and all(len(word) > 1 for word in words[1:-1]):
        return "_".join(words if words[0] else words[1:])  # no two capitals stand side by side
    letters: list[str] = []
    after_capital = True  # no underscore at the start
    for letter in name:
        capital = letter.isupper()
        if capital and not after_capital:
            letters.append("_")
        letters.append(letter.lower())
        after_capital = capital
    return "".join(letters)


def camel_case(name: str) -> str:
    """`list_offsets` -> `ListOffsets`: an API's name from its file's name."""
    return "".join(word.capitalize() for word in name.split("_"))
