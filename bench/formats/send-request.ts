import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** One request, however long its answer takes. */
export function sendRequest(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body?: string },
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const clientRequest = request(url, { method, headers, agent: false }, (reply) => {
      text(reply).then(
        (responseText) => resolve({ status: reply.statusCode ?? 0, text: responseText }),
        reject,
      );
    });
    clientRequest.on('error', reject);
    clientRequest.end(body);
  });
}
