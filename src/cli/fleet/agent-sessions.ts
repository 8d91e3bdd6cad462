import { type Genesis, isProblem } from '../../client/index.js';
import type { TaskClaim } from '../../core/contract/claim-records.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { Io } from '../io.js';
import { requiredSigningKey } from '../signing.js';
import { type WorkTarget, workerGenesis } from '../worker/work-target.js';
import type { AgentSessions } from './agent-process.js';

/** The sessions of a fleet's agents. A dead agent's claims are released at once, not when their lease ends. */
export async function agentSessions(io: Io, genesis: Genesis, target: WorkTarget): Promise<AgentSessions> {
  const sender = workerGenesis(io, target, await requiredSigningKey(io, genesis));
  // The agents sign with this key, so each session is opened with it: a session cannot get a key later.
  const public_key = sender.public_key ?? undefined;
  return {
    async open(session_id) {
      const opened = await genesis.openSession(withoutUndefined({ session_id, public_key }));
      if (isProblem(opened)) return `${opened.code}: ${opened.detail}`;
      return opened.success ? null : `${opened.reason}: ${opened.next ?? 'the server opens no session'}`;
    },
    async end(sessionId) {
      // Submit finished results first: they are accepted only while their claims are held.
      await sender.flushOutbox();
      const claimsReply = await genesis.sessionClaims(sessionId);
      const claims = isProblem(claimsReply) ? [] : claimsReply.claims;
      // Closing the session would also release the claims that wait for a person.
      if (claims.some(({ state }) => state === 'SUSPENDED')) await releaseActive(genesis, claims);
      else await genesis.closeSession(sessionId);
    },
  };
}

async function releaseActive(genesis: Genesis, claims: readonly TaskClaim[]): Promise<void> {
  for (const { task_id, session_id, generation, state } of claims) {
    if (state !== 'ACTIVE') continue;
    await genesis.releaseClaim({ task_id, session_id, expected_generation: generation });
  }
}
