import { Genesis, isProblem } from '../../client/index.js';
import type { WorkTarget } from '../worker/task-workdir.js';
import type { AgentSessions } from './agent-process.js';

/** The sessions of a fleet's agents. A dead agent's claims are released at once, not when their lease ends. */
export function agentSessions(genesis: Genesis, target: WorkTarget, outbox: string): AgentSessions {
  const { token, ...address } = target;
  const sender = new Genesis({ ...address, outbox, ...(token === null ? {} : { token }) });
  return {
    async open(session_id) {
      const opened = await genesis.openSession({ session_id });
      return isProblem(opened) ? `${opened.code}: ${opened.detail}` : null;
    },
    async end(sessionId) {
      // A result that was finished but not sent counts only while its claim is held.
      await sender.flushOutbox();
      await genesis.closeSession(sessionId);
    },
  };
}
