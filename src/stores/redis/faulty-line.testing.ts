import { createConnection, createServer, type Server, type Socket } from 'node:net';

/** Stands between a store and its engine, and can cut the line at the worst moment. */
export class FaultyLine {
  /** How many answers to come are thrown away together with their connection: what was asked has happened. */
  answers_to_lose = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async to(host: string, port: number): Promise<FaultyLine> {
    const server = createServer();
    const line = new FaultyLine(server);
    server.on('connection', (near) => line.join(near, createConnection({ host, port })));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return line;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(near: Socket, far: Socket): void {
    const cut = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      this.sockets.add(socket);
      socket.on('error', cut).on('close', cut);
    }
    near.on('data', (asked) => far.write(asked));
    far.on('data', (answer) => {
      if (this.answers_to_lose === 0) near.write(answer);
      else {
        this.answers_to_lose -= 1;
        cut();
      }
    });
  }
}
