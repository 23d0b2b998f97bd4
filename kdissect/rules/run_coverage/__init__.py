"""Coverage of a run: versions, peers, rules that had subjects to judge, the quality of the capture."""
