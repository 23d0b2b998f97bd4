"""Evidence that one pass over the input gathers. An exchange without facts does not become an object."""
