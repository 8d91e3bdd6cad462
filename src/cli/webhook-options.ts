import type { NoticeSender } from '../coordinator/background/review-notices.js';
import type { CommandContext } from './context.js';
import { wrongUsage } from './exit.js';

/** How the server sends notices of reviews: signed with GENESIS_WEBHOOK_SECRET. Without this variable no notice is sent. */
export async function webhookOptions({
  io,
  warn,
}: CommandContext): Promise<{ readonly notice_sender: NoticeSender }> {
  const { GENESIS_WEBHOOK_SECRET: setting = '', GENESIS_WEBHOOK_ALLOW_PRIVATE: allowPrivate } = io.env;
  if (setting === '') return { notice_sender: senderWithoutSecret(warn) };
  const { parseWebhookSecrets, webhookNoticeSender } = await import('../server/webhooks/notice-sender.js');
  const { PUBLIC_AND_PRIVATE_TARGETS, PUBLIC_TARGETS } = await import('../server/webhooks/post-webhook.js');
  const targets = allowPrivate === '1' ? PUBLIC_AND_PRIVATE_TARGETS : PUBLIC_TARGETS;
  try {
    return { notice_sender: webhookNoticeSender(parseWebhookSecrets(setting), targets) };
  } catch (error) {
    throw wrongUsage(`GENESIS_WEBHOOK_SECRET: ${(error as Error).message}`);
  }
}

const NO_SECRET = 'GENESIS_WEBHOOK_SECRET is not set';

/** A sender that fails. It warns once, when the first notice is due and not at the start: most projects have no webhook. */
function senderWithoutSecret(warn: CommandContext['warn']): NoticeSender {
  let hasWarned = false;
  return {
    async send() {
      if (!hasWarned)
        warn(
          `${NO_SECRET}: reviews are not sent to the webhook of engine.yml. Set the variable, and restart the server.`,
        );
      hasWarned = true;
      throw new Error(NO_SECRET);
    },
  };
}
