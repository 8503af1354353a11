# SPDX-License-Identifier: Apache-2.0
"""The example http_server answers, has metrics, and ends on SIGTERM after answering what it has."""

import re
import signal
import socket
import subprocess
import sys
import time


def connected(port):
    return socket.create_connection(("127.0.0.1", port))


def read_all(connection):
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts).decode()


def get(port, path):
    with connected(port) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        return read_all(connection)


def await_refusal(port):
    while True:
        try:
            connected(port).close()
        except OSError:
            return
        time.sleep(0.01)


with subprocess.Popen([sys.argv[1]], stdout=subprocess.PIPE, text=True) as server:
    try:
        port = int(re.fullmatch(r"listening on http://127.0.0.1:(\d+)\n", server.stdout.readline())[1])
        hello = get(port, "/hello?name=ann")
        assert hello.startswith("HTTP/1.1 200") and hello.endswith("hello ann\n"), hello
        metrics = get(port, "/metrics")
        assert re.search(r'^cadre_\w+\{.*"http".*\} \d', metrics, re.MULTILINE), metrics

        # A request that the server is reading when it is told to end.
        with connected(port) as late:
            late.sendall(b"POST /late HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                         b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            assert late.recv(65536).startswith(b"HTTP/1.1 100"), "no 100 Continue"
            server.send_signal(signal.SIGTERM)
            await_refusal(port)
            assert server.poll() is None, "it ended before it had answered"
            late.sendall(b"ok")
            answer = read_all(late)
            assert answer.startswith("HTTP/1.1 404"), answer

        assert server.wait() == 0, server.returncode
        assert re.fullmatch(r"answered \d+ connections\n", server.stdout.read())
    finally:
        if server.poll() is None:
            server.kill()
