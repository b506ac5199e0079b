"""A server on loopback that speaks the interface of the Hugging Face hub, as far as ecsuite reads and writes it.

It has repositories with commits, tells of files as the hub does (checksums of git, and SHA-256 of large files), checks
tokens, takes commits, and can be told to fail: `faults` by path of a file, and `is_down`. What was asked of it is in
`asked`. `use_hub` makes the library in this process, or in a child with `surroundings`, talk to it alone.
"""

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

TOKEN, READER = "hf_atokenoftests", "hf_areadingtoken"
"""The second may read and not write."""
USER = "someone"
LICENCE = ("--license", "cc-by-4.0")
SMALL = Path(__file__).parent / "fixtures" / "small"
PAGE_SIZE = 5
"""Entries in a page of a list of files; the next page is in the header `Link`."""
_KINDS = {"models": "model", "datasets": "dataset", "spaces": "space"}


@dataclass
class Repository:
    """Commits from the first to the last; each is all of its files."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    is_private: bool = False

    @property
    def head(self) -> str:
        return self.branches["main"]

    def add(self, files: Mapping[str, bytes], sha: str | None = None, branch: str = "main") -> str:
        sha = sha or hashlib.sha1(repr((len(self.commits), sorted(files.items()))).encode()).hexdigest()
        self.commits[sha] = dict(sorted(files.items()))
        self.branches[branch] = sha
        return sha


class HubServer(ThreadingHTTPServer):
    """The server; `with HubServer() as hub` starts and stops it."""

    daemon_threads = True

    def __init__(self, large: tuple[str, ...] = (".jsonl", ".safetensors", ".gz")):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.large = large  # endings of the files that are kept apart (LFS), with their SHA-256
        self.repositories: dict[tuple[str, str], Repository] = {}  # by kind (model, dataset) and name
        self.objects: dict[str, bytes] = {}  # content of large files by SHA-256
        self.faults: dict[str, int | bytes] = {}  # by path: the status of the answer, or other bytes
        self.cut: dict[str, int] = {}  # by path: after how many bytes the connection ends, once
        self.is_down, self.asked = False, []  # methods and paths of the requests

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> "HubServer":
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *error) -> None:
        self.shutdown()
        self.server_close()

    def add(self, name: str, files: Mapping[str, bytes], *, kind: str = "dataset", sha: str | None = None):
        """Add a commit to a repository, which is made if it is not there; returns its SHA."""
        return self.repositories.setdefault((kind, name), Repository()).add(files, sha)

    def files(self, name: str, kind: str = "dataset") -> dict[str, bytes]:
        repository = self.repositories[kind, name]
        return repository.commits[repository.head]

    def downloads(self) -> list[str]:
        asked = [line.partition("/resolve/")[2] for line in self.asked if line.startswith("GET /")]
        return [rest.partition("/")[2] for rest in asked if rest]

    def surroundings(self, home: Path) -> dict[str, str]:
        """Environment variables of a process that is to talk to this server."""
        off = dict.fromkeys(("HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_TELEMETRY"), "1")
        return {"HF_ENDPOINT": self.url, "HF_HOME": str(home), **off}

    def entry(self, path: str, content: bytes) -> dict:
        listed = {"type": "file", "path": path, "size": len(content), "oid": git_checksum(content)}
        if path.endswith(self.large):
            oid = f"oid sha256:{_sha256(content)}\nsize {len(content)}\n"
            pointer = f"version https://git-lfs.github.com/spec/v1\n{oid}"
            listed["oid"] = git_checksum(pointer.encode())
            listed["lfs"] = {"oid": _sha256(content), "size": len(content), "pointerSize": len(pointer)}
        return listed


@contextmanager
def use_hub(monkeypatch, server: HubServer, home: Path, token: str | None = None):
    """The library `huggingface_hub` of this process asks this server alone, and keeps what it gets in `home`."""
    from huggingface_hub import constants

    for name, value in {
        "ENDPOINT": server.url, "HF_HUB_CACHE": str(home / "hub"), "HF_TOKEN_PATH": str(home / "token"),
        "HUGGINGFACE_CO_URL_TEMPLATE": f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
        "HF_HUB_DISABLE_XET": True, "HF_HUB_OFFLINE": False,  # a test of data sets leaves it without a network
    }.items():  # fmt: skip
        monkeypatch.setattr(constants, name, value)
    no_waits = SimpleNamespace(sleep=lambda seconds: None, time=time.time)
    monkeypatch.setattr("huggingface_hub.utils._http.time", no_waits)  # between tries
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    if token is not None:
        monkeypatch.setenv("HF_TOKEN", token)
    yield server


def git_checksum(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class _Refused(Exception):
    """An answer that is no success: status, code and text."""

    def __init__(self, status: int, code: str, text: str):
        super().__init__(text)
        self.status, self.code = status, code


_NO_REPOSITORY = _Refused(404, "RepoNotFound", "Repository not found")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms until its headers are acknowledged
    server: HubServer

    def log_message(self, *_):
        pass

    def answer(self):
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.is_down:
            self.close_connection = True
            return
        try:
            for pattern, method in _ROUTES:
                match = re.fullmatch(pattern, f"{self.command} {path}")
                if match is not None:
                    given = {"body": body} if self.command in ("POST", "PUT") else {}
                    return method(self, *match.groups(), **given)
            raise _Refused(404, "EntryNotFound", f"nothing at {path}")
        except _Refused as refused:
            headers = {"X-Error-Code": refused.code, "X-Error-Message": str(refused)}
            self.send_json({"error": str(refused)}, status=refused.status, headers=headers)

    do_GET = do_HEAD = do_POST = do_PUT = answer

    def send(self, content: bytes, *, status: int = 200, headers: Mapping[str, str] = {}):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_json(self, value, **options):
        self.send(json.dumps(value).encode(), **options)

    @property
    def is_known(self) -> bool:
        return self.headers.get("Authorization") in (f"Bearer {TOKEN}", f"Bearer {READER}")

    def require_token(self):
        if not self.is_known:
            raise _Refused(401, "", "Invalid username or password.")
        if self.headers["Authorization"] == f"Bearer {READER}" and self.command == "POST":
            raise _Refused(403, "", "Forbidden: you must use a write token to write")

    def repository(self, kinds: str, name: str) -> Repository:
        found = self.server.repositories.get((_KINDS[kinds], name))
        if found is None or (found.is_private and not self.is_known):
            raise _NO_REPOSITORY
        return found

    def commit(self, kinds: str, name: str, revision: str) -> tuple[str, dict[str, bytes]]:
        repository = self.repository(kinds, name)
        revision = repository.branches.get(revision, revision)
        if revision not in repository.commits:
            raise _Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return revision, repository.commits[revision]

    def info(self, kinds: str, name: str, revision: str | None):
        sha, files = self.commit(kinds, name, revision or "main")
        private = self.repository(kinds, name).is_private
        siblings = [{"rfilename": path} for path in files]
        self.send_json({"id": name, "sha": sha, "private": private, "siblings": siblings, "tags": []})

    def tree(self, kinds: str, name: str, revision: str, folder: str | None):
        _, files = self.commit(kinds, name, revision)
        below = f"{folder.strip('/')}/" if folder else ""
        listed = [self.server.entry(path, content) for path, content in files.items() if path.startswith(below)]
        if not listed and below:
            raise _Refused(404, "EntryNotFound", f"no folder {folder}")
        query = urlsplit(self.path).query
        cursor = re.search(r"cursor=(\d+)", query)
        start = int(cursor[1]) if cursor else 0
        rest = re.sub(r"&?cursor=\d+", "", query)
        following = f"<{self.server.url}{urlsplit(self.path).path}?{rest}&cursor={start + PAGE_SIZE}>"
        more = {"Link": f'{following}; rel="next"'} if start + PAGE_SIZE < len(listed) else {}
        self.send_json(listed[start : start + PAGE_SIZE], headers=more)

    def resolve(self, kinds: str | None, name: str, revision: str, path: str):
        sha, files = self.commit((kinds or "models/").rstrip("/"), name, revision)
        if path not in files:
            raise _Refused(404, "EntryNotFound", f"no file {path}")
        fault = self.server.faults.get(path)
        if isinstance(fault, int):
            raise _Refused(fault, "", "told to fail")
        content, is_large = files[path], path.endswith(self.server.large)
        etag = _sha256(content) if is_large else git_checksum(content)
        headers = {"X-Repo-Commit": sha, "ETag": f'"{etag}"', "Accept-Ranges": "bytes"}
        if is_large:
            headers |= {"X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(content))}
        content = fault if fault is not None else content
        start = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if start is not None:
            headers["Content-Range"] = f"bytes {start[1]}-{len(content) - 1}/{len(content)}"
            content = content[int(start[1]) :]
        if path in self.server.cut and self.command == "GET":
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: self.server.cut.pop(path)])
            self.close_connection = True
            return
        self.send(content, status=206 if start else 200, headers=headers)

    def whoami(self):
        self.require_token()
        self.send_json({"type": "user", "name": USER, "auth": {"accessToken": {"role": "write"}}, "orgs": []})

    def create(self, body: bytes):
        self.require_token()
        asked = json.loads(body)
        kind, name = asked.get("type") or "model", f"{asked.get('organization') or USER}/{asked['name']}"
        prefix = "" if kind == "model" else f"{kind}s/"
        answer = {"url": f"{self.server.url}/{prefix}{name}", "id": name, "name": name}
        if (kind, name) in self.server.repositories:
            self.send_json({**answer, "error": "You already created this repository"}, status=409)
            return
        is_private = asked.get("private") or asked.get("visibility") == "private"
        self.server.repositories[kind, name] = repository = Repository(is_private=bool(is_private))
        repository.add({".gitattributes": b""})
        self.send_json(answer)

    def add_branch(self, kinds: str, name: str, branch: str, body: bytes):
        self.require_token()
        repository = self.repository(kinds, name)
        if branch in repository.branches:
            raise _Refused(409, "", "Reference already exists")
        repository.branches[branch] = repository.head
        self.send_json({})

    def validate_yaml(self, body: bytes):
        self.send_json({"errors": [], "warnings": []})

    def preupload(self, kinds: str, name: str, revision: str, body: bytes):
        self.require_token()
        _, files = self.commit(kinds, name, revision)
        answers = []
        for file in json.loads(body)["files"]:
            path, is_large = file["path"], file["path"].endswith(self.server.large)
            answer = {"path": path, "uploadMode": "lfs" if is_large else "regular", "shouldIgnore": False}
            if path in files:
                answer["oid"] = _sha256(files[path]) if is_large else git_checksum(files[path])
            answers.append(answer)
        self.send_json({"files": answers})

    def batch(self, kinds: str | None, name: str, body: bytes):
        self.require_token()
        objects = []
        for wanted in json.loads(body)["objects"]:
            listed = {"oid": wanted["oid"], "size": wanted["size"]}
            if wanted["oid"] not in self.server.objects:
                listed["actions"] = {"upload": {"href": f"{self.server.url}/objects/{wanted['oid']}"}}
            objects.append(listed)
        self.send_json({"transfer": "basic", "objects": objects})

    def put_object(self, oid: str, body: bytes):
        if oid in self.server.faults or _sha256(body) != oid:
            raise _Refused(400, "", "the content has another checksum")
        self.server.objects[oid] = body
        self.send(b"")

    def take_commit(self, kinds: str, name: str, revision: str, body: bytes):
        self.require_token()
        head, before = self.commit(kinds, name, revision)
        files = dict(before)
        for line in map(json.loads, body.splitlines()):
            key, value = line["key"], line["value"]
            if key == "header" and value.get("parentCommit") not in (None, head):
                raise _Refused(412, "", "A commit has happened since. Please refresh and try again.")
            if key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]
            elif key == "deletedFile":
                del files[value["path"]]
            elif key == "deletedFolder":
                below = f"{value['path'].rstrip('/')}/"
                files = {path: content for path, content in files.items() if not path.startswith(below)}
        if any(path in self.server.faults for path in files):
            raise _Refused(503, "", "told to fail")
        sha = self.repository(kinds, name).add(files, branch=revision)
        self.send_json({"commitUrl": f"{self.server.url}/{name}/commit/{sha}", "commitOid": sha})


_API = r"/api/(models|datasets|spaces)/([^/]+/[^/]+)"
_ROUTES = [
    (rf"GET {_API}(?:/revision/([^/]+))?", _Handler.info),
    (rf"GET {_API}/tree/([^/]+)(/.*)?", _Handler.tree),
    (r"(?:GET|HEAD) /(datasets/|spaces/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", _Handler.resolve),
    (r"GET /api/whoami-v2", _Handler.whoami),
    (r"POST /api/repos/create", _Handler.create),
    (rf"POST {_API}/branch/(.+)", _Handler.add_branch),
    (r"POST /api/validate-yaml", _Handler.validate_yaml),
    (rf"POST {_API}/preupload/([^/]+)", _Handler.preupload),
    (r"POST /(datasets/|spaces/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch", _Handler.batch),
    (r"PUT /objects/([0-9a-f]{64})", _Handler.put_object),
    (rf"POST {_API}/commit/([^/]+)", _Handler.take_commit),
]
