import type { Constructor } from './constructor.js';
import { endOfMessage } from './end-of-message.js';
import { type AgentCommand, runAgent } from './run-agent.js';

/** A command-line agent, or a script, that changes files in the draft folder. */
export const commandConstructor =
  (agent: AgentCommand, env: NodeJS.ProcessEnv): Constructor =>
  async ({ prompt, folder, signal }) => {
    const { message, session, cost } = await runAgent(agent, { prompt, folder, signal, env });
    return { says: endOfMessage(message), constructed_by: session, cost };
  };
