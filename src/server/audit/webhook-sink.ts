import type { AuditSink } from '../../coordinator/audit/sink.js';
import type { Anchor } from '../../core/audit/checkpoint.js';
import { OPERATOR_TARGETS, postWebhook } from '../webhooks/post-webhook.js';

/** Posts checkpoints to a URL as `{ "checkpoints": [ … ] }`. Every status of 2xx confirms them. */
export function webhookSink(url: string): Pick<AuditSink, 'name' | 'send'> {
  const { origin, pathname } = new URL(url);
  return {
    name: `${origin}${pathname}`,
    send: (anchors: readonly Anchor[]) =>
      postWebhook({ url, body: JSON.stringify({ checkpoints: anchors }) }, OPERATOR_TARGETS),
  };
}
