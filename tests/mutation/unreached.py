"""Rules that no mutator breaks, each with the reason."""

UNREACHED: dict[str, str] = {
    "ADM013": "no recorded client pages through DescribeTopicPartitions: no cursor was ever sent",
    "CON001": "it takes a second connection, and a mutant is of one; kafka44_connect_plain.pcapng has it",
    "CON002": "mutants are of requests and answers of Kafka; kafka44_connect_tls.pcapng has it",
    "CON003": "it takes a second connection, and a mutant is of one; kafka44_connect_tls.pcapng has it",
    "CON004": "it takes a second connection, and a mutant is of one; kafka44_connect_tls.pcapng has it",
    "CON005": "it takes a second connection, and a mutant is of one; kafka44_connect_plain.pcapng has it",
    "CON006": "it takes a second connection, and a mutant is of one; kafka44_connect_plain.pcapng has it",
    "GRP021": "members of one generation are told on connections of their own; a mutant is of one connection",
    "GRP025": "members of one generation are told on connections of their own; a mutant is of one connection",
    "GRP028": "members of one group heartbeat on connections of their own; a mutant is of one connection",
    "MET007": "it takes a second connection, and a mutant is of one; kafka44_connect_plain.pcapng has it",
    "PRD008": "no recorded producer sends six batches of one partition on one connection",
    "PRD010": "it takes batches of two epochs of one producer id; no recorded producer was fenced",
    "SAS013": "no sound answer can be made a refusal of it; kafka44_connect_plain.pcapng has it",
    "SAS014": "no sound answer can be made a refusal of it; kafka44_java_sasl.pcapng has it",
    "SAS016": "no sound answer can be made a refusal of it; the client would not go on",
    "VER013": "it takes three connections, and a mutant is of one",
    "VER017": "it takes two changes, of what is advertised and of the end; kafka44_franz_raw.pcapng has it",
    "VER019": "it takes three connections, and a mutant is of one; kafka44_connect_plain.pcapng has it",
    "VER020": "it takes three connections, and a mutant is of one",
}
