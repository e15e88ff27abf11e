"""Which addresses count as the public internet."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import PiKernelError
from pi_kernel.tools.extra._addresses import (
    AddressRefusedError,
    checked_addresses,
    is_public,
    literal_address,
    resolve_with_system,
)

# What `ipaddress` calls global and we do not, each for a reason that the module gives.
OURS_ONLY = tuple(
    map(
        ipaddress.ip_network,
        (
            *("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24"),
            *("2001::/23", "2002::/16", "3fff::/20", "64:ff9b::/96"),
        ),
    )
)
SPECIAL = [
    *("0.0.0.1", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1"),
    *("127.255.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255"),
    *("192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.7"),
    *("203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "fe80::1"),
    *("fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1", "2001::1"),
    *("2001:db8::1", "2002:7f00:1::", "2002:808:808::", "3fff::1", "64:ff9b::7f00:1"),
    *("64:ff9b::10.1.2.3", "64:ff9b:1::8.8.8.8", "4000::1"),
]
PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0"),
    *("126.255.255.255", "128.0.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1"),
    "64:ff9b::8.8.8.8",
]


@pytest.mark.parametrize("text", SPECIAL)
def test_an_address_with_a_special_purpose_is_not_public(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_an_ordinary_address_is_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@given(st.ip_addresses())
def test_what_ipaddress_calls_special_is_not_public(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    is_nat64 = address in ipaddress.ip_network("64:ff9b::/96")
    is_special = (
        *(address.is_private, address.is_loopback, address.is_link_local, address.is_multicast),
        *(address.is_reserved and not is_nat64, address.is_unspecified, not address.is_global),
    )
    if any(is_special):
        assert not is_public(address)
    elif not any(address in network for network in OURS_ONLY):
        assert is_public(address)


@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_never_public_unless_nat64_holds_a_public_one(
    inner: ipaddress.IPv4Address,
) -> None:
    number = int(inner)
    mapped = ipaddress.IPv6Address((0xFFFF << 32) | number)
    six_to_four = ipaddress.IPv6Address((0x2002 << 112) | (number << 80) | 1)
    nat64 = ipaddress.IPv6Address((0x64_FF9B << 96) | number)
    assert not is_public(mapped)
    assert not is_public(six_to_four)
    assert is_public(nat64) == is_public(inner)


@given(st.ip_addresses())
def test_an_address_is_known_as_one_however_it_is_written(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    assert literal_address(str(address)) == address
    if isinstance(address, ipaddress.IPv4Address):
        number = int(address)
        assert literal_address(str(number)) == literal_address(f"{address}.") == address
        assert literal_address(f"0x{number:x}") == literal_address(f"0{number:o}") == address


@pytest.mark.parametrize("host", ["localhost", "a.b", "1.2.3.4.5", "127.0.0.1.nip.io", "0x", "1e3"])
def test_a_name_is_no_address(host: str) -> None:
    assert literal_address(host) is None


async def _resolve(_host: str) -> list[str]:
    return ["1.1.1.1", "1.1.1.1", "10.0.0.1"]


async def test_one_address_that_is_not_public_refuses_the_name() -> None:
    with pytest.raises(AddressRefusedError) as caught:
        await checked_addresses("a.example", resolver=_resolve)
    assert (
        str(caught.value)
        == "a.example has the address 10.0.0.1, which is not on the public internet"
    )


async def test_every_address_is_given_once_where_private_ones_are_allowed() -> None:
    found = await checked_addresses("a.example", resolver=_resolve, allow_private=True)
    assert list(map(str, found)) == ["1.1.1.1", "10.0.0.1"]


async def test_an_address_needs_no_resolver() -> None:
    async def never(_host: str) -> list[str]:
        raise AssertionError

    assert await checked_addresses("1.1.1.1", resolver=never) == [ipaddress.ip_address("1.1.1.1")]
    with pytest.raises(AddressRefusedError) as caught:
        await checked_addresses("127.1", resolver=never)
    assert str(caught.value) == "127.1 is not on the public internet"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (socket.gaierror(-2, "unknown"), "the name a.example cannot be resolved"),
        (UnicodeError("label too long"), "the name a.example cannot be resolved"),
        ([], "the name a.example has no address"),
        (
            ["nonsense"],
            (
                "the resolver gave no address for a.example: 'nonsense' does not appear to be an"
                " IPv4 or IPv6 address"
            ),
        ),
    ],
)
async def test_a_name_without_addresses_is_an_error(
    answer: Exception | list[str], message: str
) -> None:
    async def resolve(_host: str) -> list[str]:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(PiKernelError) as caught:
        await checked_addresses("a.example", resolver=resolve)
    assert str(caught.value) == message


async def test_the_system_knows_localhost() -> None:
    assert "127.0.0.1" in await resolve_with_system("localhost")
    label_too_long = "a" * 70
    with pytest.raises(OSError):  # noqa: PT011 - the system words it
        await resolve_with_system(label_too_long)
