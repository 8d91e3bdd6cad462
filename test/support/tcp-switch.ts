import { connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** An address that can be pointed at another server, like a network name that moves at a failover. */
export class TcpSwitch {
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private target: URL,
  ) {}

  static async to(url: string): Promise<TcpSwitch> {
    const server = createServer();
    const tcpSwitch = new TcpSwitch(server, new URL(url));
    server.on('connection', (client) => tcpSwitch.connectThrough(client));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      tcpSwitch.cut();
      server.close();
    });
    return tcpSwitch;
  }

  /** The URL of the current target, by this address. */
  get url(): string {
    const url = new URL(this.target);
    url.port = String((this.server.address() as { port: number }).port);
    return url.href;
  }

  pointTo(url: string): void {
    this.target = new URL(url);
    this.cut();
  }

  private cut(): void {
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  private connectThrough(client: Socket): void {
    const upstream = connect(Number(this.target.port), this.target.hostname);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.sockets.add(one);
      one.on('error', () => {}).on('close', () => other.destroy());
      one.pipe(other);
    }
  }
}
