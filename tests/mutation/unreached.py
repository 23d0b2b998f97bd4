"""Rules that no mutator breaks, each with the reason."""

UNREACHED: dict[str, str] = {
    "ADM013": "no recorded client pages through DescribeTopicPartitions: no cursor was ever sent",
}
