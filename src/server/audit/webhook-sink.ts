import type { AuditSink } from '../../coordinator/audit/sink.js';
import type { Anchor } from '../../core/audit/checkpoint.js';

const SEND_MS_MAX = 10_000;

/** Posts checkpoints to a URL as `{ "checkpoints": [ … ] }`. Every status of 2xx confirms them. */
export function webhookSink(url: string): Pick<AuditSink, 'name' | 'send'> {
  const { origin, pathname } = new URL(url);
  return {
    name: `${origin}${pathname}`,
    async send(anchors: readonly Anchor[]) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ checkpoints: anchors }),
        // A redirect would send the checkpoints to somebody else.
        redirect: 'error',
        signal: AbortSignal.timeout(SEND_MS_MAX),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`status ${response.status}`);
    },
  };
}
