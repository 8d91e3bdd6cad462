import type { KeyObject } from 'node:crypto';
import type { Genesis } from '../client/index.js';
import { type ApiProblem, isProblem } from '../client/replies.js';
import type { CommandContext } from './context.js';
import type { Io } from './io.js';
import { openSigningKey } from './state/signing-key.js';

/** The user's signing key if the tenant requires signatures: sessions that a program opens then need this key. */
export async function requiredSigningKey(io: Io, genesis: Genesis): Promise<KeyObject | undefined> {
  const limits = await genesis.limits();
  if (isProblem(limits) || !limits.require_signatures) return undefined;
  return openSigningKey(io);
}

/**
 * Sends a claim in the stored session. A session that was opened before the tenant required signatures has no key and can
 * get none: it is replaced by a new session, unless the user named it explicitly.
 */
export async function claimInSession<Reply>(
  context: CommandContext,
  send: (sessionId: string) => Promise<Reply | ApiProblem>,
): Promise<Reply | ApiProblem> {
  const reply = await send(await context.session());
  const isRefused = isProblem(reply) && reply.code === 'SIGNATURE_REQUIRED';
  if (!isRefused || context.explicitSession !== null) return reply;
  await context.removeSession();
  return send(await context.session());
}
