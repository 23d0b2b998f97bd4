"""Rules that no mutator breaks, each with the reason."""

UNREACHED: dict[str, str] = {
    "ADM013": "no recorded client pages through DescribeTopicPartitions: no cursor was ever sent",
    "GRP021": "members of one generation are told on connections of their own; a mutant is of one connection",
    "PRD008": "no recorded producer sends six batches of one partition on one connection",
    "VER017": "it takes two changes, of what is advertised and of the end; kafka44_franz_raw.pcapng has it",
}
