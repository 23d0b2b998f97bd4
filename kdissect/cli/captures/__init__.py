"""Commands that read captures and give what they hold: exchanges, records, connections, packets."""
