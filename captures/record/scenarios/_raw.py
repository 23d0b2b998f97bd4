"""What the three recordings of raw requests share."""

from captures.record.golang import franz
from captures.record.lab import Lab

CLUSTER_ID = "a2Rpc3NlY3QtY29ycHVzIQ"
"""What the recording formats its KRaft clusters with."""


def send_raw(lab: Lab, listener: str, bootstrap: str) -> None:
    """Every API at every version one listener names, by kmsg, under the client id `raw-LISTENER`."""
    client = f"raw-{listener}"
    lab.run_driver(
        franz(), "raw", client_id=client, bootstrap=bootstrap, listener=listener, cluster_id=CLUSTER_ID
    )
    lab.truth.content["raw"] = True
    lab.truth.note(
        f"requests of client id {client} are made up by kmsg: no client chose their versions or contents"
    )
