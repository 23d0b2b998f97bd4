"""Names of addresses in JSON that `kubectl get -o json` prints: pods, services, endpoints, nodes.

An object has the name `NAMESPACE/NAME`, as `kubectl` accepts it. It reads lists, single objects and several
documents one after another. Objects of other kinds name nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_OVER = ("Succeeded", "Failed")  # phases of a pod whose address may be another pod's
# https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase

Named = Iterator[tuple[str, str]]
"""Addresses, some with a port, and names. The first name of an address counts."""


def names_in(text: str) -> Named:
    """Return addresses and names in JSON documents. Raises ValueError if the text is not JSON."""
    objects = list(_objects(text))
    for kinds in (("Pod",), ("EndpointSlice", "Endpoints"), ("Service",), ("Node",)):
        for one in objects:
            if one.get("kind") in kinds:
                yield from _READERS[one["kind"]](one)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of all documents, with the items of lists one by one."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except RecursionError:
            raise ValueError("the JSON is nested too deep") from None
        except json.JSONDecodeError as error:
            raise ValueError(f"line {error.lineno}: no JSON: {error.msg}") from None
        while at < len(text) and text[at].isspace():
            at += 1
        for one in document if isinstance(document, list) else [document]:
            yield from _each(one)


def _each(one: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(one, dict):
        return
    kind, items = one.get("kind"), one.get("items")
    if not isinstance(items, list):
        yield one
        return
    # Items of a PodList have no kind of their own if the API server printed them.
    of_list = kind[: -len("List")] if isinstance(kind, str) and kind.endswith("List") else ""
    for item in items:
        if isinstance(item, dict):
            yield item if item.get("kind") else item | {"kind": of_list}


def _pod(pod: dict[str, Any]) -> Named:
    status, spec, name = _part(pod, "status"), _part(pod, "spec"), _name(pod)
    if status.get("phase") in _OVER:
        return
    addresses = [status.get("podIP"), *(row.get("ip") for row in _rows(status, "podIPs"))]
    for address in _texts(addresses):
        if not spec.get("hostNetwork"):
            yield address, name
            continue
        # The address is the node's: several pods and the node itself have it.
        for container in _rows(spec, "containers"):
            for port in _rows(container, "ports"):
                yield _with_port(address, port.get("containerPort")), name
        if isinstance(spec.get("nodeName"), str):
            yield address, spec["nodeName"]


def _service(service: dict[str, Any]) -> Named:
    spec, status, name = _part(service, "spec"), _part(service, "status"), _name(service)
    addresses = [spec.get("clusterIP"), *_values(spec, "clusterIPs"), *_values(spec, "externalIPs")]
    addresses += [row.get("ip") for row in _rows(_part(status, "loadBalancer"), "ingress")]
    yield from ((address, name) for address in _texts(addresses))


def _endpoints(endpoints: dict[str, Any]) -> Named:
    for subset in _rows(endpoints, "subsets"):
        for row in (*_rows(subset, "addresses"), *_rows(subset, "notReadyAddresses")):
            for address in _texts([row.get("ip")]):
                yield address, _target(row, endpoints)


def _endpoint_slice(endpoints: dict[str, Any]) -> Named:
    for row in _rows(endpoints, "endpoints"):
        for address in _texts(_values(row, "addresses")):
            yield address, _target(row, endpoints)


def _node(node: dict[str, Any]) -> Named:
    for row in _rows(_part(node, "status"), "addresses"):
        for address in _texts([row.get("address")]):
            yield address, _name(node)


_READERS = {
    "Pod": _pod,
    "Service": _service,
    "Endpoints": _endpoints,
    "EndpointSlice": _endpoint_slice,
    "Node": _node,
}


def _target(row: dict[str, Any], endpoints: dict[str, Any]) -> str:
    """Return the object that an address belongs to: the pod, or the endpoints themselves if no object is
    named.
    """
    target = _part(row, "targetRef")
    return _name({"metadata": target if target.get("name") else endpoints.get("metadata")})


def _name(one: dict[str, Any]) -> str:
    """Return the namespace and name."""
    metadata = _part(one, "metadata")
    return "/".join(_texts([metadata.get("namespace"), metadata.get("name")]))


def _with_port(address: str, port: Any) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _part(one: dict[str, Any], name: str) -> dict[str, Any]:
    found = one.get(name)
    return found if isinstance(found, dict) else {}


def _values(one: dict[str, Any], name: str) -> list[Any]:
    found = one.get(name)
    return found if isinstance(found, list) else []


def _rows(one: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [row for row in _values(one, name) if isinstance(row, dict)]


def _texts(values: list[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str) and value]
