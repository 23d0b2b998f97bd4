"""Decryption of TLS 1.2 and 1.3 connections whose secrets are known: ciphertext streams in, plaintext out.

Sans-IO. Modules that need cryptography (the extra `tls`) are imported when records are opened. Handshakes are
read without it.
"""
