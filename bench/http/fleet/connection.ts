import { connect, type Socket } from 'node:net';

interface HttpReply {
  readonly status: number;
  // The shape is defined by the wire contract; what the benchmark reads is checked against the log, not by types.
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
  readonly body: any;
}

interface WaitingRequest {
  resolve(reply: HttpReply): void;
  reject(error: Error): void;
}

const HEAD_END = '\r\n\r\n';
const CONTENT_LENGTH = /\r\ncontent-length: (\d+)\r\n/i;
const STATUS_START = 'HTTP/1.1 '.length;

/**
 * One agent's own keep-alive connection, with one request at a time. The load shares the machine with the server, so this
 * client does only what a reply of this server requires: a general client takes as much time as the server.
 */
export class Connection {
  private readonly socket: Socket;
  private readonly headers: string;
  private waiting: WaitingRequest | null = null;
  private received: Buffer | null = null;

  constructor(url: string, token?: string) {
    const { host, hostname, port } = new URL(url);
    const authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`;
    this.headers = `host: ${host}\r\nconnection: keep-alive\r\ncontent-type: application/json\r\n${authorization}`;
    this.socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.socket.on('data', (bytes: Buffer) => this.receive(bytes));
    this.socket.on('error', (error) => this.fail(error));
    this.socket.on('close', () => this.fail(new Error('The server closed the connection.')));
  }

  post(path: string, body: object): Promise<HttpReply> {
    const text = JSON.stringify(body);
    const length = Buffer.byteLength(text);
    this.socket.write(
      `POST ${path} HTTP/1.1\r\n${this.headers}content-length: ${length}${HEAD_END}${text}`,
      length === text.length ? 'latin1' : 'utf8',
    );
    return new Promise((resolve, reject) => {
      if (this.socket.destroyed) reject(new Error('The server has closed the connection.'));
      else this.waiting = { resolve, reject };
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.socket.end(() => resolve()));
  }

  private receive(bytes: Buffer): void {
    const received = this.received === null ? bytes : Buffer.concat([this.received, bytes]);
    this.received = received;
    const headEnd = received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = received.toString('latin1', 0, headEnd + 2);
    const contentLength = CONTENT_LENGTH.exec(head)?.[1];
    if (contentLength === undefined) {
      this.fail(new Error(`A reply has no content-length: ${head}`));
      return;
    }
    const bodyStart = headEnd + HEAD_END.length;
    const bodyEnd = bodyStart + Number(contentLength);
    if (received.length < bodyEnd) return;
    const { waiting } = this;
    this.waiting = null;
    this.received = null;
    const status = Number(head.slice(STATUS_START, STATUS_START + 3));
    waiting?.resolve({ status, body: JSON.parse(received.toString('utf8', bodyStart, bodyEnd)) });
  }

  private fail(error: Error): void {
    this.waiting?.reject(error);
    this.waiting = null;
  }
}
