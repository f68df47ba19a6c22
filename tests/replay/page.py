"""A report as a reader sees it: what stands where in the HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "rect", "line", "polyline", "polygon", "br"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def all(self, tag: str, kind: str = "") -> list[Node]:
        """The elements below of this tag and, if given, of this class."""
        inner = [child for child in self.children if isinstance(child, Node)]
        own = [c for c in inner if c.tag == tag and (not kind or kind in c.attributes.get("class", "").split())]
        return own + [found for child in inner for found in child.all(tag, kind)]

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children).strip()


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID or tag == "rect":  # our bars have titles inside
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(html: str) -> Node:
    """The document; every element is closed where it should be."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    assert len(parser.open) == 1, f"<{parser.open[-1].tag}> is not closed"
    return parser.open[0]


def section(page: Node, title: str) -> Node:
    """The section under this heading."""
    return next(one for one in page.all("section") if [h.text for h in one.all("h2")] == [title])


def table(node: Node) -> list[list[str]]:
    """The rows of the first table in it, without the heading."""
    return [[cell.text for cell in row.all("td")] for row in node.all("tbody")[0].all("tr")]


def tips(node: Node) -> list[str]:
    """What its marks say when they are pointed at, each once."""
    return list(dict.fromkeys(title.text for title in node.all("title")))
