"""Stands for the other side: receives requests, and adds the body of each to a file.

receiver.py PORT FILE
"""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Receiver(BaseHTTPRequestHandler):
    """Answers 204 once the body is in the file."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with Path(sys.argv[2]).open("ab") as file:
            file.write(body + b"\n")
        self.send_response(204)
        self.end_headers()


HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
