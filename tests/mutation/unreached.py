"""Rules that no mutator breaks, each with the reason."""

UNREACHED: dict[str, str] = {
    "ADM013": "no recorded client pages through DescribeTopicPartitions: no cursor was ever sent",
    "PRD008": "no recorded producer sends six batches of one partition on one connection",
}
