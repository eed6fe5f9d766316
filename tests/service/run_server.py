"""Run a server whose settings are given as JSON, as ``placement serve`` would."""

import json
import sys

from placement.service.config import ServerConfig
from placement.service.server import serve

if __name__ == "__main__":
    settings = json.loads(sys.argv[1])
    settings["solver_modules"] = tuple(settings.get("solver_modules", ()))
    sys.exit(serve(ServerConfig(**settings)))
