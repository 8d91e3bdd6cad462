import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export type FunctionAnswer =
  | { readonly result: unknown }
  | { readonly error: string; readonly cause: string };
type TestFunction = (input: unknown) => Promise<FunctionAnswer>;

/** POST /2015-03-31/functions/ARN/invocations, where the ARN ends with the name. */
const INVOCATION = /^\/2015-03-31\/functions\/(?:.*(?::|%3A))?([\w-]+)\/invocations$/;

/** The part of the API of AWS Lambda that calls functions. They run in this process. */
export class FunctionServer {
  private readonly functions = new Map<string, TestFunction>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<FunctionServer> {
    const server = createServer();
    const functions = new FunctionServer(server);
    server.on('request', async (request, response) => {
      const { status, headers, body } = await functions.reply(request);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return functions;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  add(name: string, run: TestFunction): void {
    this.functions.set(name, run);
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async reply(
    request: IncomingMessage,
  ): Promise<{ status: number; headers?: object; body: unknown }> {
    const name = INVOCATION.exec(request.url ?? '')?.[1] ?? '';
    const run = this.functions.get(name);
    if (run === undefined) return { status: 404, body: { Message: `There is no function ${name}.` } };
    const answer = await run(await json(request));
    if ('result' in answer) return { status: 200, body: answer.result };
    const body = { errorType: answer.error, errorMessage: answer.cause };
    return { status: 200, headers: { 'x-amz-function-error': 'Unhandled' }, body };
  }
}
