"""SASL tokens: PLAIN, SCRAM, OAUTHBEARER and what is visible of GSSAPI."""
