import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { onProgram } from '../../stores/testing/on-database.js';
import { missingProgram } from '../../stores/testing/program.js';
import { parseWebhookSecrets, webhookNoticeSender } from './notice-sender.js';
import {
  OPERATOR_TARGETS,
  PUBLIC_AND_PRIVATE_TARGETS,
  PUBLIC_TARGETS,
  postWebhook,
  WebhookError,
} from './post-webhook.js';
import { openReceiver } from './testing/webhook-receiver.js';

const call = (url: string) => ({ url, body: '{}' });

describe('a webhook of a project', () => {
  it.each([
    ['http://example.com/', 'not https'],
    ['ftp://example.com/', 'not https'],
    ['file:///etc/passwd', 'not https'],
    ['https://user:secret@example.com/', 'contains a user name or a password'],
    ['https://example.com:22/', 'port 22'],
    ['https://example.com:4680/', 'port 4680'],
    ['https://127.0.0.1/', 'not public'],
    ['https://localhost/', 'not public'],
    ['https://2130706433/', 'not public'],
    ['https://0x7f.1/', 'not public'],
    ['https://0177.0.0.1/', 'not public'],
    ['https://[::1]/', 'not public'],
    ['https://[::ffff:169.254.169.254]/', 'not public'],
    ['https://169.254.169.254/latest/meta-data/', 'not public'],
    ['https://10.1.2.3:8443/', 'not public'],
  ])('is not sent to %s', async (url, message) => {
    await expect(postWebhook(call(url), PUBLIC_TARGETS)).rejects.toThrow(message);
  });

  it('fails with the error code of the connection if nothing listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const sent = postWebhook(call(`https://127.0.0.1:${port}/`), PUBLIC_AND_PRIVATE_TARGETS);
    await expect(sent).rejects.toThrow('ECONNREFUSED');
  });

  it('ends when the receiver never answers', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const sent = postWebhook(call(`http://127.0.0.1:${port}/`), OPERATOR_TARGETS);
    await expect(sent).rejects.toThrow('timeout');
  }, 20_000);
});

await onProgram('openssl', missingProgram('openssl'), () => {
  it('a webhook call names the host in the TLS handshake and the request, and connects to its resolved address', async () => {
    const { url, port, ca, received } = await openReceiver();
    await postWebhook(
      { ...call(`${url}?a=1`), headers: { 'x-test': 'yes' } },
      { ...PUBLIC_AND_PRIVATE_TARGETS, ca },
    );
    expect(received).toMatchObject([
      {
        server_name: 'localhost',
        path: '/hook?a=1',
        headers: { host: `localhost:${port}`, 'content-type': 'application/json', 'x-test': 'yes' },
        body: '{}',
      },
    ]);
  });

  it('a webhook is not sent to a server without a valid certificate for the host', async () => {
    const { url, port, ca, received } = await openReceiver();
    await expect(postWebhook(call(url), PUBLIC_AND_PRIVATE_TARGETS)).rejects.toThrow();
    const byAddress = postWebhook(call(`https://127.0.0.1:${port}/`), { ...PUBLIC_AND_PRIVATE_TARGETS, ca });
    await expect(byAddress).rejects.toThrow('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(received).toEqual([]);
  });

  it('does not follow redirects', async () => {
    const other = await openReceiver();
    const { url, ca } = await openReceiver((response) =>
      response.writeHead(307, { location: other.url }).end(),
    );
    await expect(postWebhook(call(url), { ...PUBLIC_AND_PRIVATE_TARGETS, ca })).rejects.toThrow('status 307');
    expect(other.received).toEqual([]);
  });

  it.each([301, 302, 303, 307, 308])(
    'does not follow a redirect with status %i to this machine',
    async (status) => {
      const other = await openReceiver();
      const targets = [other.url, `https://127.0.0.1:${other.port}/`, 'http://169.254.169.254/latest/'];
      for (const location of targets) {
        const { url, ca } = await openReceiver((response) => response.writeHead(status, { location }).end());
        const sent = postWebhook(call(url), { ...PUBLIC_AND_PRIVATE_TARGETS, ca: `${ca}${other.ca}` });
        await expect(sent).rejects.toThrow(`status ${status}`);
      }
      expect(other.received).toEqual([]);
    },
  );

  it.each([
    ['never finishes its answer', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nx'],
    ['never finishes its headers', 'HTTP/1.1 200 OK\r\nx: '],
    ['changes the protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['announces an answer for ever', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000)],
    ['sends endless headers', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(1_000_000)}`],
    ['does not speak HTTP', '\u0000'.repeat(100_000)],
  ])('ends when the receiver %s', { timeout: 20_000 }, async (_, answer) => {
    const { url, ca } = await openReceiver((response) => void response.socket?.write(answer));
    await expect(postWebhook(call(url), { ...PUBLIC_AND_PRIVATE_TARGETS, ca })).rejects.toThrow(WebhookError);
  });

  it('ignores the body of the response, and reads only its beginning', async () => {
    let isCut = false;
    const { url, ca } = await openReceiver((response) => {
      response
        .on('error', () => {})
        .on('close', () => {
          isCut = !response.writableFinished;
        });
      response.writeHead(200);
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(16_384)));
        response.once('drain', write);
      };
      write();
    });
    await postWebhook(call(url), { ...PUBLIC_AND_PRIVATE_TARGETS, ca });
    await expect.poll(() => isCut).toBe(true);
  });

  it('a notice is signed with every secret over time and body, and sent with its id', async () => {
    const { url, ca, received } = await openReceiver();
    const secrets = parseWebhookSecrets('first-secret-of-16, second-secret-of-16');
    await webhookNoticeSender(secrets, { ...PUBLIC_AND_PRIVATE_TARGETS, ca }).send(
      url,
      'notice-1',
      '{"a":1}',
    );
    const [{ headers, body }] = received as [(typeof received)[number]];
    expect(headers['genesis-notice-id']).toBe('notice-1');
    const [time = '', ...signatures] = String(headers['genesis-signature']).split(',');
    const signedText = `${time.slice('t='.length)}.${body}`;
    const expected = ['first-secret-of-16', 'second-secret-of-16'].map(
      (secret) => `v1=${createHmac('sha256', secret).update(signedText).digest('hex')}`,
    );
    expect(signatures).toEqual(expected);
  });
});

it.each(['short', 'long-enough-secret,', 'long-enough-secret,long-enough-secret,long-enough-secret'])(
  'refuses %s as the setting of the webhook secrets',
  (setting) => expect(() => parseWebhookSecrets(setting)).toThrow(),
);
