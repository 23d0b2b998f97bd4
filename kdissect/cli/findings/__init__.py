"""Commands that judge captures, and the findings they report: `check` and `upgrade`."""
