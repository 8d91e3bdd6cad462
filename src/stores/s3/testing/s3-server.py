"""S3 of moto, on loopback.

    python3 s3-server.py          exits with 0 if it can run here
    python3 s3-server.py PORT     runs until it is killed
"""

import sys
import types

try:
    import flask_cors  # noqa: F401
except ImportError:
    # The server imports it for the headers that browsers need.
    sys.modules["flask_cors"] = types.SimpleNamespace(CORS=lambda *_, **__: None)

from moto.server import main
from werkzeug.serving import WSGIRequestHandler

# The server and the application both send a Date header, and the SDK for JavaScript fails to parse two.
WSGIRequestHandler.send_response = lambda self, code, message=None: self.send_response_only(code, message)

if len(sys.argv) > 1:
    main(["-H", "127.0.0.1", "-p", sys.argv[1]])
