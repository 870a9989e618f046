from __future__ import annotations

from handful.service.answer_heads import MOST_KEPT, Heads

JSON = ((b"content-type", b"application/json"),)


def test_a_head_has_the_status_and_all_headers_in_order() -> None:
    found = Heads().head(201, [(b"date", b"now")], (*JSON, (b"vary", b"Origin")))
    assert found == (
        b"HTTP/1.1 201 Created\r\ndate: now\r\ncontent-type: application/json\r\nvary: Origin\r\n"
    )


def test_heads_of_another_second_status_or_header_differ() -> None:
    heads = Heads()
    now, later = [(b"date", b"now")], [(b"date", b"later")]
    for _ in range(2):
        for default in (now, later):
            for status, phrase in ((200, b"OK"), (404, b"Not Found")):
                for headers in ((), JSON):
                    head = heads.head(status, default, headers)
                    assert head.startswith(b"HTTP/1.1 %d %b\r\n" % (status, phrase))
                    assert default[0][1] in head
                    assert (b"application/json" in head) == bool(headers)


def test_no_more_heads_are_kept_than_may_be() -> None:
    heads, default = Heads(), [(b"date", b"now")]
    for number in range(3 * MOST_KEPT):
        heads.head(503, default, ((b"retry-after", b"%d" % number),))
        assert len(heads._made) <= MOST_KEPT
