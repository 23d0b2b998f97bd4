"""What one pass over the input gathers. No object is made for an exchange that tells nothing."""
