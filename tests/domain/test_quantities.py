"""What people write, as exact integers; and what is refused, with what would be right."""

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement import quantities as q

NOW = 1_796_040_000  # 2026-11-30T12:00:00Z


@pytest.mark.parametrize(
    ("written", "millicores"),
    [
        (32, 32_000),
        (0, 0),
        (0.5, 500),
        (0.1, 100),
        (1.001, 1001),
        ("500m", 500),
        ("1.5", 1500),
        ("0.5", 500),
        (".5", 500),
        ("2.", 2000),
        ("1k", 1_000_000),
        ("2500000n", None),
        ("2000000n", 2),
        ("1500u", None),
        (Decimal("0.25"), 250),
        (q.WrittenFloat("0.250"), 250),
        (q.WrittenInt(7, "007"), 7000),
    ],
)
def test_cpu(written: object, millicores: int | None) -> None:
    if millicores is None:
        with pytest.raises(ValueError, match="not a whole number of millicores"):
            q.parse_millicores(written)
    else:
        assert q.parse_millicores(written) == millicores


@pytest.mark.parametrize(
    ("written", "count"),
    [
        (0, 0),
        (1024, 1024),
        ("1024", 1024),
        ("1Ki", 2**10),
        ("256Gi", 256 * 2**30),
        ("1.5Ti", 3 * 2**39),
        ("0.5Ki", 512),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("12k", 12_000),
        ("500M", 500_000_000),
        ("3G", 3 * 10**9),
        ("4T", 4 * 10**12),
        ("5P", 5 * 10**15),
        ("1E", 10**18),
        ("1E3", 1000),
        ("1e3", 1000),
        ("1e+3", 1000),
        ("15e-1k", None),
        ("5000m", 5),
        (1.5e9, 1_500_000_000),
        (q.WrittenFloat("2.5e9"), 2_500_000_000),
        # As in Kubernetes: what a large unit leaves of a byte is rounded up.
        ("1.1Ti", 1_209_462_790_554),
        ("0.1Gi", 107_374_183),
    ],
)
def test_bytes(written: object, count: int | None) -> None:
    if count is None:
        with pytest.raises(ValueError, match="not an amount of bytes"):
            q.parse_bytes(written)
    else:
        assert q.parse_bytes(written) == count


@pytest.mark.parametrize(
    ("written", "count"), [(">=80Gi", 80 * 2**30), (">= 80Gi", 80 * 2**30), ("80Gi", 80 * 2**30)]
)
def test_least_bytes(written: object, count: int) -> None:
    assert q.parse_minimum_bytes(written) == count


@pytest.mark.parametrize("written", ["<=80Gi", ">80Gi", "=80Gi", ">=", ">=-1", ">=>=1Gi"])
def test_least_bytes_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"Gi"):
        q.parse_minimum_bytes(written)


@pytest.mark.parametrize(
    ("written", "bps"),
    [
        ("400Gbps", 400 * 10**9),
        ("3.2Tbps", 3_200_000_000_000),
        ("100Mbps", 100_000_000),
        ("1.5kbps", 1500),
        ("9600bps", 9600),
        (400_000_000_000, 400 * 10**9),
        ("1000", 1000),
        (4e11, 4 * 10**11),
    ],
)
def test_bandwidth(written: object, bps: int) -> None:
    assert q.parse_bits_per_second(written) == bps


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("36h", 129_600),
        ("90m", 5400),
        ("1h30m", 5400),
        ("7d", 604_800),
        ("45s", 45),
        ("1d2h3m4s", 93_784),
        ("1.5h", 5400),
        ("0.5m", 30),
        (90, 90),
        ("90", 90),
        (0, 0),
        ("2000ms", 2),
        ("365000d", q.MOST_SECONDS),
    ],
)
def test_seconds(written: object, seconds: int) -> None:
    assert q.parse_seconds(written) == seconds


@pytest.mark.parametrize(
    ("written", "millis"),
    [("500ms", 500), ("5s", 5000), (5, 5000), (0.25, 250), ("1m1s1ms", 61_001), ("2.5s", 2500)],
)
def test_milliseconds(written: object, millis: int) -> None:
    assert q.parse_milliseconds(written) == millis


@pytest.mark.parametrize(
    ("written", "milli"),
    [
        (8, 8000),
        (0, 0),
        (0.5, 500),
        (0.125, 125),
        (0.001, 1),
        (0.999, 999),
        ("0.5", 500),
        (2.0, 2000),
        (1.0, 1000),
        (q.WrittenFloat("0.50"), 500),
    ],
)
def test_gpus(written: object, milli: int) -> None:
    assert q.parse_gpus_milli(written) == milli


@pytest.mark.parametrize(
    ("written", "message"),
    [(1.5, "a share below 1"), (0.0001, "3 decimals"), ("1.001", "a share below 1")],
)
def test_gpus_are_whole_or_a_share(written: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        q.parse_gpus_milli(written)


@pytest.mark.parametrize(
    ("written", "unix_s"),
    [
        ("2026-11-30T12:00:00Z", NOW),
        ("2026-11-30t12:00:00z", NOW),
        ("2026-11-30 12:00:00Z", NOW),
        ("2026-11-30T13:00:00+01:00", NOW),
        ("2026-11-30T06:30:00-05:30", NOW),
        ("2026-11-30T12:00:00.999Z", NOW),
        ("2016-12-31T23:59:60Z", 1_483_228_800),
        (NOW, NOW),
        (datetime(2026, 11, 30, 12, tzinfo=UTC), NOW),
        (datetime(2026, 11, 30, 13, tzinfo=timezone(timedelta(hours=1))), NOW),
        ("+90m", NOW + 5400),
        ("-2h", NOW - 7200),
        ("+0s", NOW),
        ("-1h30m", NOW - 5400),
    ],
)
def test_times(written: object, unix_s: int) -> None:
    assert q.parse_time(written, NOW) == unix_s


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("2026-11-30T12:00:00", "no time zone"),
        (datetime(2026, 11, 30, 12), "no time zone"),
        ("2026-11-30", "not a time"),
        ("2026-13-01T00:00:00Z", "month"),
        ("2026-02-30T00:00:00Z", "day"),
        ("2026-11-30T25:00:00Z", "hour"),
        ("2026-11-30T12:00:00+99:00", "time zone"),
        ("0001-01-01T00:00:00Z", "1970"),
        ("20261130T120000Z", "not a time"),
        ("+", "not a time"),
        ("+1_0m", "not a time"),
        ("tomorrow", "not a time"),
        (600, "not a time"),
        (1.5e9, "not a time"),
        (True, "not a time"),
        (None, "not a time"),
        (NOW * 1000, "9999"),
        ("-365000d", "1970"),
    ],
)
def test_times_refused(written: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        q.parse_time(written, NOW)
    assert "2026-11-30T12:00:00Z" in str(error.value)


def test_now_itself_is_not_relative() -> None:
    with pytest.raises(ValueError, match="not a time"):
        q.parse_time("+2h")


PARSERS = [
    q.parse_millicores,
    q.parse_bytes,
    q.parse_minimum_bytes,
    q.parse_bits_per_second,
    q.parse_seconds,
    q.parse_milliseconds,
    q.parse_gpus_milli,
    q.parse_amount_milli,
    q.parse_weight_milli,
    q.parse_count,
    q.parse_positive,
]


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "written",
    [
        True,
        False,
        None,
        math.nan,
        math.inf,
        -math.inf,
        -1,
        -0.5,
        "-1",
        "-1Gi",
        "1_000",
        " 1",
        "1 ",
        "1\n",
        "",
        "1e400Gi",
        "1e400",
        1e300,
        2**60 + 2**50,
        10**400,
        "9" * 1000,
        "1" + "0" * 30,
        "0x10",
        "NaN",
        "inf",
        "٣",  # a digit, but not one of ours
        "1,5",
        "+1",
        "1GiB",
        "1Zi",
        "--1",
        [],
        {},
        [1],
        b"1",
        object(),
        q.WrittenFloat("1e400"),
    ],
)
def test_no_number_is_invented(parse: object, written: object) -> None:
    with pytest.raises(ValueError, match="write"):
        parse(written)  # type: ignore[operator]


@pytest.mark.parametrize("parse", [q.parse_count, q.parse_positive])
@pytest.mark.parametrize("written", ["8", 8.0, 1.5, Decimal(8)])
def test_counts_are_integers(parse: object, written: object) -> None:
    with pytest.raises(ValueError, match="whole number"):
        parse(written)  # type: ignore[operator]


def test_a_count_in_quotes_is_told_how_to_be_one() -> None:
    with pytest.raises(ValueError, match="8, without quotes"):
        q.parse_count("8")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("12.10", "12.10"),
        (q.WrittenFloat("12.10"), "12.10"),
        (q.WrittenInt(7, "007"), "007"),
        (12.4, "12.4"),
        (3, "3"),
        (True, "true"),
        (False, "false"),
        ("", ""),
        ("yes", "yes"),
    ],
)
def test_labels_keep_their_text(written: object, text: str) -> None:
    assert q.parse_label_value(written) == text


@pytest.mark.parametrize("written", [None, [], {}, math.nan, "a\nb", "x" * 254, "\ud800"])
def test_labels_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        q.parse_label_value(written)


@pytest.mark.parametrize(("written", "name"), [("n01", "n01"), (7, "7"), ("a b/c:d", "a b/c:d")])
def test_names(written: object, name: str) -> None:
    assert q.parse_identifier(written) == name


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "empty"),
        (" a", "space"),
        ("a ", "space"),
        ("a\x1b[31m", "control"),
        ("a\u2028b", "control"),
        ("\ud800", "control"),
        ("x" * 254, "too long"),
        (1.5, "not a name"),
        (True, "not a name"),
        (None, "not a name"),
        (["a"], "not a name"),
    ],
)
def test_names_refused(written: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        q.parse_identifier(written)


@pytest.mark.parametrize("written", [1, 0, "true", "yes", "on", None, 1.0])
def test_flags_are_true_or_false(written: object) -> None:
    with pytest.raises(ValueError, match="write true or false"):
        q.parse_flag(written)


@given(st.integers(0, q.MOST))
def test_integers_come_back(value: int) -> None:
    assert q.parse_bytes(value) == q.parse_bytes(str(value)) == value
    assert q.parse_bits_per_second(f"{value}bps") == value
    assert q.parse_millicores(f"{value}m") == value
    assert q.parse_count(value) == value


@given(st.integers(0, 2**40), st.sampled_from(["Ki", "Mi", "k", "M"]))
def test_a_suffix_multiplies(value: int, suffix: str) -> None:
    scale = {"Ki": 2**10, "Mi": 2**20, "k": 10**3, "M": 10**6}[suffix]
    assert q.parse_bytes(f"{value}{suffix}") == value * scale


@given(st.integers(0, 999_999_999))
def test_thousandths_of_a_core_come_back(millicores: int) -> None:
    whole, rest = divmod(millicores, 1000)
    assert q.parse_millicores(f"{whole}.{rest:03}") == millicores
    assert q.parse_millicores(millicores / 1000) == millicores


@given(st.integers(0, q.MOST_SECONDS))
def test_durations_come_back(seconds: int) -> None:
    minutes, s = divmod(seconds, 60)
    hours, m = divmod(minutes, 60)
    d, h = divmod(hours, 24)
    assert q.parse_seconds(f"{d}d{h}h{m}m{s}s") == seconds
    assert q.parse_milliseconds(f"{d}d{h}h{m}m{s}s0ms") == 1000 * seconds


@given(st.integers(0, q.LATEST_UNIX_S))
def test_times_come_back(unix_s: int) -> None:
    assert q.parse_time(q.format_time(unix_s)) == unix_s


_ANYTHING = st.one_of(
    st.text(),
    st.text(alphabet="0123456789.eE+-KMGTPikmundhs:_ "),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.booleans(),
    st.none(),
    st.binary(),
    st.lists(st.integers()),
    st.dictionaries(st.text(), st.integers()),
    st.datetimes(),
)


@pytest.mark.parametrize("parse", [*PARSERS, q.parse_priority, q.parse_label_value, q.parse_time])
@given(_ANYTHING)
def test_anything_is_read_or_refused(parse: object, written: object) -> None:
    try:
        value = parse(written)  # type: ignore[operator]
    except ValueError as error:
        assert len(str(error)) < 400
        assert str(error).isprintable()
    else:
        assert isinstance(value, int | str)
        assert isinstance(value, str) or -(2**31) <= value <= max(q.MOST, q.MOST_SECONDS * 1000)
