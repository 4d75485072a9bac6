"""moto on a free port, with a bucket; run by moto.sh."""

import logging
import threading
import urllib.request

from moto.server import ThreadedMotoServer


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # no line for each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT")).close()
    print(endpoint, flush=True)
    threading.Event().wait()


main()
