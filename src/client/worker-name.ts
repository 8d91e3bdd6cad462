import { randomBytes } from 'node:crypto';

/** Leaves room for the short id within the maximum length of an agent id. */
const NAME_LENGTH_MAX = 100;
const EXTENSION = /\.(?:[cm]?[jt]s|sh|py|exe|cmd|bat)$/i;

/** Tells workers of one program apart. Constant in this process, so that a worker keeps its name. */
const PROCESS_ID = randomBytes(2).toString('hex');

/** The default agent id of a worker: its program, by name or path, and a short id, such as `claude-1a2b`. */
export function workerName(program: string, id = PROCESS_ID): string {
  const name = program.split(/[\\/]/).at(-1) ?? '';
  return `${agentIdFrom(name.replace(EXTENSION, ''))}-${id}`;
}

/** Converts a text to an agent id: replaces the characters that the grammar of ids does not allow. */
export const agentIdFrom = (text: string): string =>
  text
    .replace(/[^A-Za-z0-9._~@+-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|-+$/g, '')
    .slice(0, NAME_LENGTH_MAX) || 'agent';
