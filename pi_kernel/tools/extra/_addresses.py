"""Which addresses may be fetched from: those of the public internet.

The lists are ours, because what `ipaddress` calls global differs from one Python to the next.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable

import anyio

from pi_kernel.errors import PiKernelError

__all__ = (
    "Address",
    "AddressRefusedError",
    "Resolver",
    "checked_addresses",
    "is_public",
    "literal_address",
    "resolve_with_system",
)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

Resolver = Callable[[str], Awaitable[Iterable[str]]]
"""Takes an ASCII host name, returns its addresses; raises `OSError` when there are none."""

_NOT_PUBLIC_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this host
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # the platform's own services inside an Azure machine
            "169.254.0.0/16",  # link-local, among them the metadata of cloud machines
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays to IPv6
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved and broadcast
        ),
    )
)
_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")
"""All that is given out. Loopback, link-local, unique local, multicast, mapped are outside."""
_NOT_PUBLIC_V6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments, among them Teredo tunnels
            "2001:db8::/32",  # documentation
            "2002::/16",  # tunnels that hold an IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Its last 32 bits are an IPv4 address; networks without IPv4 reach the public ones this way."""
_V4_BITS = 0xFFFF_FFFF


class AddressRefusedError(PiKernelError):
    """A host is not on the public internet."""


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet.

    An address that wraps an IPv4 address is not public, but for NAT64's, which counts as the IPv4
    address in it.

    Source:
        Ours, after the IANA special-purpose address registries.

    Example:
        >>> is_public(ipaddress.ip_address("1.1.1.1")), is_public(ipaddress.ip_address("::1"))
        (True, False)
    """
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_V4)
    if address in _NAT64:
        return is_public(ipaddress.IPv4Address(int(address) & _V4_BITS))
    return address in _UNICAST_V6 and not any(address in network for network in _NOT_PUBLIC_V6)


def literal_address(host: str) -> Address | None:
    """Return the address that a host is, in any way of writing one; None for a name.

    Example:
        >>> literal_address("127.1"), literal_address("localhost")
        (IPv4Address('127.0.0.1'), None)
    """
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host)
    with contextlib.suppress(OSError):  # `127.1`, `0x7f000001` and the like
        return ipaddress.IPv4Address(socket.inet_aton(host.removesuffix(".")))
    return None


async def resolve_with_system(host: str) -> list[str]:
    """Return the addresses of a name, in the order in which to try them."""
    # As bytes the name is not encoded once more, which fails for long labels.
    found = await anyio.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


async def checked_addresses(
    host: str, *, resolver: Resolver, allow_private: bool = False
) -> list[Address]:
    """Return the addresses of a host, each once; all of them may be connected to.

    Args:
        host: An ASCII host name or an address.
        resolver: Looks up names.
        allow_private: Whether addresses that are not public are fine.

    Raises:
        AddressRefusedError: If any of the addresses is not public.
        PiKernelError: If the name has no address.
    """
    literal = literal_address(host)
    if literal is not None:
        addresses = [literal]
    else:
        try:
            found = list(await resolver(host))
            addresses = [ipaddress.ip_address(text) for text in dict.fromkeys(found)]
        except (OSError, UnicodeError) as error:
            raise PiKernelError(f"the name {host} cannot be resolved") from error
        except ValueError as error:
            raise PiKernelError(f"the resolver gave no address for {host}: {error}") from error
        if not addresses:
            raise PiKernelError(f"the name {host} has no address")
    refused = next((item for item in addresses if not allow_private and not is_public(item)), None)
    if refused is not None:
        what = (
            f"{host} is" if literal is not None else f"{host} has the address {refused}, which is"
        )
        raise AddressRefusedError(f"{what} not on the public internet")
    return addresses
