"""Commands that need no capture: rules, filter fields, limits, grammar, hex, completion."""
