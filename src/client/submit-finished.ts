import { createHash } from 'node:crypto';
import type { ApiClient } from './api-client.js';
import type { FinishedResult } from './outbox.js';
import { withExpectedGeneration } from './renewer.js';
import { type ApiProblem, isProblem, type SubmissionReply } from './replies.js';
import { releaseMessage } from './submission-refusal.js';

/** Larger results are sent as a blob, because a command has at most 1 MiB. */
const INLINE_BYTES_MAX = 512 * 1024;
export const RELEASE_MESSAGE_CHARS_MAX = 2000;

/**
 * Submits a finished result. If it is refused and the claim is still held, the claim is released with the reason:
 * otherwise nobody could claim the work until the lease ends, and the next holder would not learn what was wrong.
 */
export async function submitFinished(
  client: ApiClient,
  finished: FinishedResult,
): Promise<SubmissionReply | ApiProblem> {
  const reply = await submit(client, finished);
  const message = releaseMessage(reply)?.slice(0, RELEASE_MESSAGE_CHARS_MAX);
  if (message === undefined) return reply;
  const { task_id, session_id, claim_id, generation } = finished;
  const handle = withExpectedGeneration({ task_id, session_id, claim_id, generation });
  await client.releaseClaim({ ...handle, reason: 'ERROR', message });
  return reply;
}

async function submit(client: ApiClient, finished: FinishedResult): Promise<SubmissionReply | ApiProblem> {
  const { agent_id: _, agent_role: __, finished_at: ___, result_data, ...fields } = finished;
  const bytes = Buffer.from(JSON.stringify(result_data));
  if (bytes.length <= INLINE_BYTES_MAX) return client.submitResult({ ...fields, result_data });
  const blob_sha256 = createHash('sha256').update(bytes).digest('hex');
  const stored = await client.putBlob(blob_sha256, bytes);
  return isProblem(stored) ? stored : client.submitResult({ ...fields, blob_sha256 });
}
