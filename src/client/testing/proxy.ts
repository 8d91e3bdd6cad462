import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

type Verdict = 'pass' | 'lose_request' | 'lose_reply' | { readonly answer: string };

/** The wire between a client and a server, for tests: it sees every request and may lose it or its reply. */
export interface Wire {
  readonly url: string;
  /** `POST /path`, in the order seen. */
  readonly requests: readonly string[];
  /** Asked for each request. A reply that is lost ends its connection. */
  judge: (request: string) => Verdict;
  /** While frozen, nothing goes either way, and nobody is told. */
  frozen: boolean;
  cut(): void;
  seen(request: string): Promise<void>;
  close(): Promise<void>;
}

const REQUEST = /(?:^|\n)((?:GET|POST|PUT|DELETE) \S+) HTTP\/1\.1\r\n/g;

export async function startProxy(target: { port: number }): Promise<Wire> {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  const watchers = new Set<() => void>();
  const server = createServer((client) => {
    const upstream = connect(target.port, '127.0.0.1');
    let loses_reply = false;
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
      if (proxy.frozen) return;
      for (const [, request = ''] of chunk.toString('latin1').matchAll(REQUEST)) {
        requests.push(request);
        for (const watcher of [...watchers]) watcher();
        const verdict = proxy.judge(request);
        if (verdict === 'lose_request') return void client.destroy();
        if (verdict === 'lose_reply') loses_reply = true;
        if (typeof verdict === 'object') return void client.end(verdict.answer);
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (loses_reply) client.destroy();
      else if (!proxy.frozen) client.write(chunk);
    });
  });
  const proxy: Wire = {
    url: '',
    requests,
    judge: () => 'pass',
    frozen: false,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    seen: (request) =>
      new Promise((resolve) => {
        const look = () => {
          if (!requests.some((seen) => seen.includes(request))) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
    close: async () => {
      server.close();
      proxy.cut();
    },
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(proxy, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
