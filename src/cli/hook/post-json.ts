import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type ApiProblem, isProblem, type RenewalReply } from '../../client/replies.js';
import { jsonOrText } from '../json-or-text.js';

const TIMEOUT_MS = 10_000;
const REPLY_BYTES_MAX = 64 * 1024;

/** Sends one renewal. Node's own client, because `fetch` and the SDK take longer to load than the request takes. */
export function postJson(
  url: string,
  body: object,
  token: string | null,
): Promise<RenewalReply | ApiProblem> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  const headers = {
    'content-type': 'application/json',
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
  return new Promise((resolve, reject) => {
    const clientRequest = request(
      url,
      { method: 'POST', headers, timeout: TIMEOUT_MS, agent: false },
      (reply) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        reply.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > REPLY_BYTES_MAX) clientRequest.destroy(new Error(`The reply of ${url} is too large.`));
          else chunks.push(chunk);
        });
        reply.on('error', reject);
        reply.on('end', () => {
          const parsed = jsonOrText(Buffer.concat(chunks).toString('utf8'));
          if (isRenewal(parsed) || isProblem(parsed)) resolve(parsed);
          else
            reject(
              new Error(
                `${url} replied with status ${reply.statusCode}, but not as a Genesis Fleet server. Check the URL.`,
              ),
            );
        });
      },
    );
    clientRequest.on('timeout', () => clientRequest.destroy(new Error(`No response from ${url}.`)));
    clientRequest.on('error', reject);
    clientRequest.end(JSON.stringify(body));
  });
}

const isRenewal = (reply: unknown): reply is RenewalReply =>
  typeof reply === 'object' && reply !== null && 'success' in reply && 'reason' in reply;
