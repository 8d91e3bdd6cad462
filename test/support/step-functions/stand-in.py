"""A stand-in for AWS Step Functions: the engine in moto, on loopback.

    python3 stand-in.py                       exits with 0 if it can run here
    python3 stand-in.py PORT FUNCTIONS_URL    runs until it is killed

Lambda functions are called at FUNCTIONS_URL, with the path that Lambda has. Tried with moto 5.2.1.
"""

import copy
import functools
import os
import re
import sys
import threading
import time
import types

try:
    import flask_cors  # noqa: F401
except ImportError:
    # The server imports flask_cors for the headers that browsers need.
    sys.modules["flask_cors"] = types.SimpleNamespace(CORS=lambda *_, **__: None)

import boto3
import jsonpath_ng.ext
from moto.core import config
from moto.core.responses import EmptyResult
from moto.stepfunctions.responses import StepFunctionResponse
from moto.stepfunctions.parser import models
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.utils import json_path
from werkzeug.serving import WSGIRequestHandler

PORT, FUNCTIONS_URL = sys.argv[1:] or (None, None)

# Without this setting, executions are recorded and not run.
config.default_user_config.setdefault("stepfunctions", {})["execute_state_machine"] = True

# The server and the application both send a Date header, and the SDK for JavaScript fails to parse two.
WSGIRequestHandler.send_response = lambda self, code, message=None: self.send_response_only(code, message)


parsing = threading.Lock()


def one_at_a_time(parse):
    """Runs one parser at a time: parsers share tables between threads, and fail sometimes if they run concurrently."""

    def locked(*args):
        with parsing:
            return parse(*args)

    return locked


AmazonStateLanguageParser.parse = staticmethod(one_at_a_time(AmazonStateLanguageParser.parse))


def end_with_thread(failure):
    """Ends the process. Otherwise an execution whose thread has failed would count as running for ever."""
    threading.__excepthook__(failure)
    os._exit(1)


threading.excepthook = end_with_thread


def copy_without_executions(value, *_):
    """Copies a machine for StartExecution without its running executions, because their locks cannot be copied."""
    if not hasattr(value, "executions") or not hasattr(value, "backend"):
        return copy.deepcopy(value)
    return copy.deepcopy(value, {id(value.executions): [], id(value.backend): value.backend})


models.copy = types.SimpleNamespace(copy=copy.copy, deepcopy=copy_without_executions)


@functools.cache
def functions_client_in(region):
    return boto3.client(
        "lambda",
        region_name=region,
        endpoint_url=FUNCTIONS_URL,
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )


# Functions are called over HTTP instead of in containers.
lambda_eval_utils.boto_client_for = lambda region, **_: functions_client_in(region)

# A wait of one second between retries takes a hundredth of a second.
retrier_decl.time = types.SimpleNamespace(sleep=lambda seconds: time.sleep(seconds / 100))


def send_task_failure(self):
    """Replaces the function of moto, which loses the cause of the failure."""
    token, error, cause = (self._get_param(name) for name in ("taskToken", "error", "cause"))
    self.stepfunction_backend.send_task_failure(token, error=error, cause=cause)
    return EmptyResult()


StepFunctionResponse.send_task_failure = send_task_failure


def extract_json(path, data, original=json_path.extract_json):
    """Replaces the function of moto, which returns an array for `$.list[0].field`, although that is one value."""
    if not re.fullmatch(r"\$(\.[\w-]+|\[\d+\])*\[\d+\]\.[\w-]+", path):
        return original(path, data)
    matches = json_path.parse(path).find(data)
    if not matches:
        raise json_path.NoSuchJsonPathError(json_path=path, data=data)
    return matches[0].value


replaced = {
    json_path.extract_json: extract_json,
    # The functions that these replace build the tables of their grammar again for every path.
    jsonpath_ng.parse: one_at_a_time(functools.cache(jsonpath_ng.parse)),
    jsonpath_ng.ext.parse: one_at_a_time(functools.cache(jsonpath_ng.ext.parse)),
}
for module_name, module in list(sys.modules.items()):
    if module_name.startswith("moto.stepfunctions."):
        for name in ("extract_json", "parse"):
            value = getattr(module, name, None)
            if isinstance(value, types.FunctionType) and value in replaced:
                setattr(module, name, replaced[value])

from moto.server import main  # noqa: E402 (moto.server reads the settings above when it is imported)

if PORT is not None:
    main(["-H", "127.0.0.1", "-p", PORT])
