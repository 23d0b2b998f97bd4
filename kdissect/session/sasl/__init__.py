"""Logins: phases of SASL on a connection, whose they are, and which frames are tokens."""
