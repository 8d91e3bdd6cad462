import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** One request, however long its answer takes. */
export function asked(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body?: string },
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (reply) => {
      text(reply).then((said) => resolve({ status: reply.statusCode ?? 0, text: said }), reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
