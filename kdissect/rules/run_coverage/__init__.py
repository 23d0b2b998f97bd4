"""What a run looked at: versions, peers, rules that had something to judge, the quality of the capture."""
