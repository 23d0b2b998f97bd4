"""The group story that all drivers outside Java tell: two members in one process."""

from typing import Any

from captures.record.drivers import Driver
from captures.record.lab import Lab


def two_members(lab: Lab, driver: Driver, client_id: str, **options: Any) -> None:
    """Run the driver's action `group`, whose members are `CLIENT_ID-first` and `CLIENT_ID-second`."""
    for name in ("first", "second"):
        lab.truth.client(driver.name, driver.version, f"{client_id}-{name}")
    lab.run_driver(driver, "group", client_id=client_id, **options)
