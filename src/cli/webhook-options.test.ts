import { expect, it } from 'vitest';
import type { CommandContext } from './context.js';
import { webhookOptions } from './webhook-options.js';

function contextWith(env: Record<string, string>) {
  const warnings: string[] = [];
  const context = {
    io: { env },
    warn: (line: string) => void warnings.push(line),
  } as unknown as CommandContext;
  return { context, warnings };
}

it('sends nothing without a secret, and warns once when a notice is due', async () => {
  const { context, warnings } = contextWith({});
  const { notice_sender } = await webhookOptions(context);
  expect(warnings).toEqual([]);
  for (const id of ['n1', 'n2'])
    await expect(notice_sender.send('https://example.com/', id, '{}')).rejects.toThrow(
      'GENESIS_WEBHOOK_SECRET is not set',
    );
  expect(warnings).toEqual([expect.stringContaining('GENESIS_WEBHOOK_SECRET')]);
});

it('refuses a secret that is too short', async () => {
  const { context } = contextWith({ GENESIS_WEBHOOK_SECRET: 'short' });
  await expect(webhookOptions(context)).rejects.toThrow('GENESIS_WEBHOOK_SECRET');
});

it('permits private addresses only if the operator says so', async () => {
  const GENESIS_WEBHOOK_SECRET = 'a-secret-of-16-characters';
  const errorOf = async (env: Record<string, string>) => {
    const { notice_sender } = await webhookOptions(contextWith(env).context);
    // Port 1: nothing listens there.
    return notice_sender.send('https://127.0.0.1:1/', 'n1', '{}').catch((error: Error) => error.message);
  };
  expect(await errorOf({ GENESIS_WEBHOOK_SECRET })).toBe('port 1 is not allowed');
  const allowed = { GENESIS_WEBHOOK_SECRET, GENESIS_WEBHOOK_ALLOW_PRIVATE: '1' };
  expect(await errorOf(allowed)).toBe('ECONNREFUSED');
});
