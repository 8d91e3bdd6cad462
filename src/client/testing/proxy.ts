import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

type ProxyAction = 'pass' | 'lose_request' | 'lose_reply' | { readonly answer: string };

/** A proxy between a client and a server that records every request and may drop it or its reply. */
export interface FaultyProxy {
  readonly url: string;
  /** `POST /path`, in order of arrival. */
  readonly requests: readonly string[];
  /** Called for each request. Dropping a reply closes its connection. */
  actionFor: (request: string) => ProxyAction;
  /** While frozen, it forwards nothing in either direction and closes nothing. */
  isFrozen: boolean;
  cutConnections(): void;
  waitForRequest(request: string): Promise<void>;
  close(): Promise<void>;
}

const REQUEST = /(?:^|\n)((?:GET|POST|PUT|DELETE) \S+) HTTP\/1\.1\r\n/g;

export async function startFaultyProxy(target: { port: number }): Promise<FaultyProxy> {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  const watchers = new Set<() => void>();
  const server = createServer((client) => {
    const upstream = connect(target.port, '127.0.0.1');
    let isReplyLost = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (proxy.isFrozen) return;
      for (const [, request = ''] of chunk.toString('latin1').matchAll(REQUEST)) {
        requests.push(request);
        for (const watcher of [...watchers]) watcher();
        const action = proxy.actionFor(request);
        if (action === 'lose_request') return void client.destroy();
        if (action === 'lose_reply') isReplyLost = true;
        if (typeof action === 'object') return void client.end(action.answer);
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (isReplyLost) client.destroy();
      else if (!proxy.isFrozen) client.write(chunk);
    });
  });
  const proxy: FaultyProxy = {
    url: '',
    requests,
    actionFor: () => 'pass',
    isFrozen: false,
    cutConnections: () => {
      for (const socket of sockets) socket.destroy();
    },
    waitForRequest: (request) =>
      new Promise((resolve) => {
        const checkForRequest = () => {
          if (!requests.some((recorded) => recorded.includes(request))) return;
          watchers.delete(checkForRequest);
          resolve();
        };
        watchers.add(checkForRequest);
        checkForRequest();
      }),
    close: async () => {
      server.close();
      proxy.cutConnections();
    },
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(proxy, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
