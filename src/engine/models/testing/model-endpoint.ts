import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ModelSettings } from '../../../core/methodology/definition/engine-settings.js';
import type { DocumentedAnswer, DocumentedProvider } from './documented-exchanges.js';

interface ReceivedQuestion {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server on this machine that answers questions to a model with documented answers, one after the other. */
export interface ModelEndpoint {
  readonly settings: ModelSettings;
  readonly received: readonly ReceivedQuestion[];
  close(): Promise<void>;
}

/** `'silence'`: the question is never answered. */
export async function openModelEndpoint(
  provider: DocumentedProvider,
  answers: readonly (DocumentedAnswer | 'silence')[],
): Promise<ModelEndpoint> {
  const received: ReceivedQuestion[] = [];
  const server = createServer(async (request, response) => {
    const answer = answers[received.length];
    received.push({ path: request.url ?? '', headers: request.headers, body: await text(request) });
    if (answer === 'silence') return;
    // The test asked more questions than it has answers. No client retries the status 418.
    const { status, headers = {}, body } = answer ?? { status: 418, body: 'no more answers' };
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    settings: {
      provider: provider.provider,
      model: provider.model,
      base_url: `http://127.0.0.1:${port}`,
      usd_per_million_input_tokens: 3,
      usd_per_million_output_tokens: 15,
    },
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
