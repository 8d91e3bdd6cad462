import { createConnection, createServer, type Server, type Socket } from 'node:net';

/** A proxy between a store and its database that can cut the connection at the worst moment. */
export class FaultyRedisProxy {
  /** The number of replies to drop, together with their connection: the commands have been executed. */
  repliesToDrop = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async startFor(host: string, port: number): Promise<FaultyRedisProxy> {
    const server = createServer();
    const proxy = new FaultyRedisProxy(server);
    server.on('connection', (client) => proxy.joinSockets(client, createConnection({ host, port })));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private joinSockets(client: Socket, upstream: Socket): void {
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      this.sockets.add(socket);
      socket.on('error', cut).on('close', cut);
    }
    client.on('data', (request) => upstream.write(request));
    upstream.on('data', (reply) => {
      if (this.repliesToDrop === 0) client.write(reply);
      else {
        this.repliesToDrop -= 1;
        cut();
      }
    });
  }
}
