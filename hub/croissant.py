"""Croissant metadata (version 1.1, with the responsible-AI fields 1.0): description and checksums of pushed files.

See mlcommons.org/croissant. A pulled folder is verified with `croissant.json`: `sums_in` reads the checksums of the
files that it lists. Its addresses are relative, so that all copies are equal.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import msgspec

from ecsuite.formats.directory import CORPUS, MEANINGS
from ecsuite.hub.contents import CROISSANT, PushedFile
from ecsuite.runtime.errors import DamagedError

CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
"""Specifications of the metadata."""
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context of the specification: definitions of the short names."""
ENCODINGS = {
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".ndjson": "application/jsonlines",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".parquet": "application/x-parquet",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".gz": "application/gzip",
    ".xz": "application/x-xz",
}
"""Media types by the ending of a file's name; the default is `application/octet-stream`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Described:
    """Croissant description of a repository besides its files."""

    name: str
    """Name of the repository."""
    owner: str
    """Publisher."""
    url: str
    """Page of the repository."""
    description: str
    """Description in a paragraph."""
    licence: str
    """Address of the licence's text."""
    keywords: Sequence[str]
    """Tags."""
    cite_as: str
    """BibTeX."""
    published: str
    """Date, as 2026-11-30."""
    responsible: Mapping[str, Any]
    """The responsible-AI fields by name, with prefix."""


def croissant(described: Described, files: Iterable[PushedFile]) -> str:
    """The text of `croissant.json`."""
    files = list(files)
    data = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        "name": described.name,
        "description": described.description,
        "url": described.url,
        "license": described.licence,
        "creator": {"@type": "sc:Organization", "name": described.owner},
        "publisher": {"@type": "sc:Organization", "name": described.owner},
        "datePublished": described.published,
        "version": "1.0.0",
        "keywords": list(described.keywords),
        "citeAs": described.cite_as,
        **described.responsible,
        "distribution": [_file_object(each) for each in files],
        "recordSet": [
            _records(each.name) for each in files if PurePosixPath(each.name).name in (CORPUS, MEANINGS)
        ],
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _file_object(content: PushedFile) -> dict[str, Any]:
    suffix = PurePosixPath(content.name).suffix
    return {
        "@type": "cr:FileObject",
        "@id": content.name,
        "name": content.name,
        "contentUrl": content.name,
        "contentSize": f"{content.size} B",
        "encodingFormat": ENCODINGS.get(suffix, "application/octet-stream"),
        "sha256": content.sha256,
    }


def _records(name: str) -> dict[str, Any]:
    """The lines of a file of messages or meanings as records; line N of both belongs to one message."""
    path = PurePosixPath(name)
    is_messages = path.name == CORPUS
    identity = name.removesuffix(path.suffix)
    what = (
        "a message: a JSON array of symbol ids"
        if is_messages
        else "what the message of this line means, as JSON"
    )
    fields = (("line", "sc:Integer", "lineNumbers", "number of the line, from 0"),
              ("message" if is_messages else "meaning", "sc:Text", "lines", what))  # fmt: skip
    return {
        "@type": "cr:RecordSet",
        "@id": identity,
        "name": identity,
        "description": f"The lines of {name}.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{identity}/{field}",
                "name": f"{identity}/{field}",
                "description": about,
                "dataType": kind,
                "source": {"fileObject": {"@id": name}, "extract": {"fileProperty": property_}},
            }
            for field, kind, property_, about in fields
        ],
    }


class _File(msgspec.Struct, rename={"kind": "@type", "url": "contentUrl"}):
    kind: str
    url: str
    sha256: str


class _Files(msgspec.Struct, rename={"conforms_to": "conformsTo"}):
    conforms_to: list[str]
    distribution: list[_File]


def sums_in(content: bytes, where: str) -> dict[str, str]:
    """The SHA-256 of each file listed in a `croissant.json` of ecsuite.

    Raises:
        DamagedError: If `push` did not write the file.
    """
    try:
        files = msgspec.json.decode(content, type=_Files)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise DamagedError(
            f"{where}: {CROISSANT} is not one that `ecsuite push` wrote, or it was changed since"
        ) from None
    return {file.url: file.sha256 for file in files.distribution}
