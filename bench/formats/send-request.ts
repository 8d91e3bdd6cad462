import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** Sends one request, without a timeout. */
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
