import { readlinkSync } from 'node:fs';
import { agentIdFrom } from '../client/worker-name.js';
import { idFault } from '../core/id-grammar.js';
import { wrongUsage } from './exit.js';
import type { Io } from './io.js';

/** The agent from `--agent` or `GENESIS_AGENT`; null if neither is set. */
export function explicitAgent(io: Io, option: string | undefined): string | null {
  const agentId = option ?? io.env.GENESIS_AGENT;
  if (agentId === undefined || agentId === '') return null;
  const fault = idFault('agent_id', agentId);
  if (fault !== null)
    throw wrongUsage(
      `${JSON.stringify(agentId)} is not a valid agent id: ${fault}. Set another one: --agent or GENESIS_AGENT.`,
    );
  return agentId;
}

/** The agent id of the person who types commands: the user name. */
export const userAgent = (io: Io): string => agentIdFrom(io.user);

/** Variables by which terminals and multiplexers identify a window. */
const WINDOW_VARIABLES = ['TMUX_PANE', 'TERM_SESSION_ID', 'WT_SESSION', 'WEZTERM_PANE', 'KITTY_WINDOW_ID'];

/** Identifies the terminal, so that each terminal has its own session. Empty if that is not possible, as without a terminal. */
export function terminalName({ env }: Io): string {
  for (const name of WINDOW_VARIABLES) if ((env[name] ?? '') !== '') return `${name}=${env[name]}`;
  for (const descriptor of [0, 1, 2]) {
    const device = deviceOf(descriptor);
    if (/^\/dev\/(pts\/|tty)/.test(device)) return device;
  }
  return '';
}

function deviceOf(descriptor: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return '';
  }
}
