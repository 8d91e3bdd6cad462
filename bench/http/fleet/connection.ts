import { Client } from 'undici';

interface HttpReply {
  readonly status: number;
  // The shape is defined by the wire contract; what the benchmark reads is checked against the log, not by types.
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
  readonly body: any;
}

const HEADERS = { 'content-type': 'application/json' };

/** One agent's own keep-alive connection. */
export class Connection {
  private readonly client: Client;
  private readonly headers: Record<string, string>;

  constructor(url: string, token?: string, pipelining = 1) {
    this.headers = token === undefined ? HEADERS : { ...HEADERS, authorization: `Bearer ${token}` };
    this.client = new Client(url, { pipelining, keepAliveTimeout: 60_000 });
  }

  post(path: string, body: object): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let status = 0;
      this.client.dispatch(
        { method: 'POST', path, headers: this.headers, body: JSON.stringify(body) },
        {
          onRequestStart() {},
          onResponseStart(_, code) {
            status = code;
          },
          onResponseData(_, chunk) {
            chunks.push(chunk);
          },
          onResponseEnd() {
            const text = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
            resolve({ status, body: JSON.parse(String(text)) });
          },
          onResponseError(_, error) {
            reject(error);
          },
        },
      );
    });
  }

  close(): Promise<void> {
    return this.client.close();
  }
}
