"""Laws that every conclusion must survive: facts in other parts of the capture that contradict a cause."""
