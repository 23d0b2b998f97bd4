"""TLS 1.2 and 1.3 taken off connections whose secrets are known: ciphertext streams in, plaintext out.

Sans-IO. What needs cryptography (the extra `tls`) is imported where records are opened; handshakes are read
without it.
"""
