import { createHmac } from 'node:crypto';
import type { NoticeSender } from '../../coordinator/background/review-notices.js';
import { postWebhook, type WebhookTargets } from './post-webhook.js';

const SECRETS_MAX = 2;
const SECRET_CHARS_MIN = 16;

/** The secrets of GENESIS_WEBHOOK_SECRET. Throws if one is not valid. */
export function parseWebhookSecrets(setting: string): readonly string[] {
  const secrets = setting.split(',').map((secret) => secret.trim());
  if (secrets.length > SECRETS_MAX) throw new Error('expected one secret, or two separated by a comma.');
  if (secrets.some((secret) => secret.length < SECRET_CHARS_MIN))
    throw new Error(`expected at least ${SECRET_CHARS_MIN} characters in each secret.`);
  return secrets;
}

/** `t=SECONDS,v1=HEX`, with one `v1` per secret: the HMAC-SHA256 of the seconds, a full stop and the body. */
function signatureHeader(secrets: readonly string[], seconds: number, body: string): string {
  const signatures = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`,
  );
  return [`t=${seconds}`, ...signatures].join(',');
}

/** Posts notices of reviews, signed with every secret: a receiver that has one of the secrets can verify the notice. */
export const webhookNoticeSender = (secrets: readonly string[], targets: WebhookTargets): NoticeSender => ({
  send(url, noticeId, body) {
    const seconds = Math.floor(Date.now() / 1000);
    const headers = {
      'genesis-signature': signatureHeader(secrets, seconds, body),
      'genesis-notice-id': noticeId,
    };
    return postWebhook({ url, body, headers }, targets);
  },
});
