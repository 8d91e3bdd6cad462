import { connect, type Socket } from 'node:net';

/** Reads an event stream over a plain socket and records what it receives. */
export class EventStreamClient {
  readonly positions: number[] = [];
  commentCount = 0;
  cursor = '';
  private text = '';
  private notifyWaiter: () => void = () => {};
  private isClosed = false;

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk) => this.parseChunk(String(chunk)));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
      this.notifyWaiter();
    });
  }

  static open(port: number, path: string, cursor = ''): EventStreamClient {
    const resumed = cursor === '' ? '' : `Last-Event-ID: ${cursor}\r\n`;
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${resumed}\r\n`),
    );
    return new EventStreamClient(socket);
  }

  /** Resolves once the condition holds; rejects if the stream ends before. */
  async waitUntil(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.isClosed) throw new Error(`the stream ended after ${this.positions.length} events`);
      await new Promise<void>((resolve) => {
        this.notifyWaiter = resolve;
      });
    }
  }

  async waitForEnd(): Promise<void> {
    while (!this.isClosed) {
      await new Promise<void>((resolve) => {
        this.notifyWaiter = resolve;
      });
    }
  }

  disconnect(): void {
    this.socket.destroy();
  }

  private parseChunk(chunk: string): void {
    this.text += chunk;
    const blocks = this.text.split('\n\n');
    this.text = blocks.pop() as string;
    for (const block of blocks) {
      const id = /^id: (.+)$/m.exec(block)?.[1];
      const data = /^data: (.+)$/m.exec(block)?.[1];
      if (/^: /m.test(block)) this.commentCount += 1;
      if (id === undefined || data === undefined) continue;
      this.cursor = id;
      this.positions.push(JSON.parse(data).position);
    }
    this.notifyWaiter();
  }
}
