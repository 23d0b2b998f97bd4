"""Captures made to hurt: bombs, cycles, lies about lengths, every limit. `files.FILES` names them all."""
